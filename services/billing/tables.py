"""Billing's rows: one table per noun of the vendor, each row the object itself.

`body` is the object as it is shown; names in it that start with an underscore are ours and leave the house never.
What lists and searches look for is derived from the body at every write, so that it cannot disagree with it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa

from services.billing import due_dates
from services.kernel.statements import Json, Row, derived
from services.kernel.template import WorldSchema

tables = sa.MetaData()

Due = Callable[[dict[str, Any]], int | None]


def _at(path: tuple[str, ...], row: Row) -> Any:
    found: Any = row["body"]
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _plain(path: tuple[str, ...], row: Row) -> str | int | None:
    found = _at(path, row)
    return int(found) if isinstance(found, bool) else found


def _casefolded(path: tuple[str, ...], row: Row) -> str | None:
    found = _at(path, row)
    return found.casefold() if isinstance(found, str) else None


def _text(name: str, path: str = "") -> sa.Column[Any]:
    return derived(name, partial(_plain, tuple((path or name).split("."))))


def _number(name: str, path: str = "") -> sa.Column[Any]:
    return derived(name, partial(_plain, tuple((path or name).split("."))), sa.Integer)


def _folded(name: str) -> sa.Column[Any]:
    return derived(f"{name}_folded", partial(_casefolded, (name,)))


def _due(of: Due) -> sa.Column[Any]:
    return derived("due_at", lambda row: of(row["body"]), sa.Integer)


def _noun(name: str, kind: str, prefix: str, *columns: sa.Column[Any], born: str = "created") -> sa.Table:
    """A table whose derived columns are each indexed in the order in which lists are shown."""
    return sa.Table(
        name,
        tables,
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("body", Json, nullable=False),
        _number("created", born),
        *columns,
        sa.Index(f"{name}_in_order", "created", "seq"),
        *(sa.Index(f"{name}_by_{column.name}", column.name, "created", "seq") for column in columns),
        info={"kind": kind, "prefix": prefix},
    )


customers = _noun(
    "customers",
    "customer",
    "cus",
    _text("email"),
    _folded("email"),
    _folded("name"),
    _folded("phone"),
    _number("deleted"),
)
tax_ids = _noun("tax_ids", "tax_id", "txi", _text("customer"))
balance_entries = _noun("balance_entries", "customer_balance_transaction", "cbtxn", _text("customer"))
products = _noun("products", "product", "prod", _number("active"), _folded("name"))
prices = _noun(
    "prices",
    "price",
    "price",
    _text("product"),
    _number("active"),
    _text("lookup_key"),
    _text("currency"),
    _text("type"),
)
coupons = _noun("coupons", "coupon", "", _number("deleted"))
promotion_codes = _noun(
    "promotion_codes",
    "promotion_code",
    "promo",
    _text("code"),
    _text("coupon", "promotion.coupon"),
    _text("customer"),
    _number("active"),
)
discounts = _noun("discounts", "discount", "di", _text("subscription"), _due(due_dates.of_discount), born="start")
subscriptions = _noun(
    "subscriptions",
    "subscription",
    "sub",
    _text("customer"),
    _text("status"),
    _text("collection_method"),
    _number("canceled_at"),
    _due(due_dates.of_subscription),
)
subscription_items = _noun(
    "subscription_items", "subscription_item", "si", _text("subscription"), _text("price", "price.id")
)
schedules = _noun(
    "schedules",
    "subscription_schedule",
    "sub_sched",
    _text("customer"),
    _text("subscription"),
    _due(due_dates.of_schedule),
)
invoices = _noun(
    "invoices",
    "invoice",
    "in",
    _text("customer"),
    _text("status"),
    _text("subscription", "parent.subscription_details.subscription"),
    _text("collection_method"),
    _text("number"),
    _text("currency"),
    _number("total"),
    _number("due_date"),
    _due(due_dates.of_invoice),
)
invoice_lines = _noun(
    "invoice_lines",
    "line_item",
    "il",
    _text("invoice"),
    _text("subscription_item", "_subscription_item"),
    born="_created",
)
invoice_items = _noun(
    "invoice_items",
    "invoiceitem",
    "ii",
    _text("customer"),
    _text("invoice"),
    _text("subscription", "parent.subscription_details.subscription"),
    born="date",
)
invoice_payments = _noun(
    "invoice_payments",
    "invoice_payment",
    "inpay",
    _text("invoice"),
    _text("status"),
    _text("payment_intent", "payment.payment_intent"),
)
credit_notes = _noun("credit_notes", "credit_note", "cn", _text("invoice"), _text("customer"))
credit_note_lines = _noun(
    "credit_note_lines", "credit_note_line_item", "cnli", _text("credit_note", "_credit_note"), born="_created"
)
charges = _noun(
    "charges",
    "charge",
    "ch",
    _text("customer"),
    _text("payment_intent"),
    _text("status"),
    _text("currency"),
    _number("amount"),
    _number("refunded"),
    _number("disputed"),
    _text("last4", "payment_method_details.card.last4"),
)
payment_intents = _noun(
    "payment_intents", "payment_intent", "pi", _text("customer"), _text("status"), _text("currency"), _number("amount")
)
refunds = _noun("refunds", "refund", "re", _text("charge"), _text("payment_intent"), _due(due_dates.of_refund))
payment_methods = _noun("payment_methods", "payment_method", "pm", _text("customer"), _text("type"))
disputes = _noun("disputes", "dispute", "du", _text("charge"), _text("payment_intent"), _due(due_dates.of_dispute))
events = _noun("events", "event", "evt", _text("type"))
balance_transactions = _noun(
    "balance_transactions", "balance_transaction", "txn", _text("source"), _text("type"), _text("currency")
)
files = _noun("files", "file", "file", _text("purpose"))
portal_sessions = _noun("portal_sessions", "billing_portal.session", "bps", _text("customer"))

# One row: who bills, in which country, and what happens to those who do not pay.
account = sa.Table(
    "account",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("body", Json, nullable=False),
)

# Double entry: the amounts of one posting sum to zero. Assets and expenses are positive, so an account of the kind
# `credit:cus_…` reads exactly as the customer's balance does.
journal = sa.Table(
    "journal",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("posting", sa.Integer, nullable=False),
    sa.Column("at", sa.Integer, nullable=False),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("amount", sa.Integer, nullable=False),
    sa.Column("about", sa.Text, nullable=False),
    sa.Index("journal_by_account", "account", "currency"),
    sa.Index("journal_by_posting", "posting"),
    sa.Index("journal_by_subject", "about"),
)

BY_PREFIX: dict[str, sa.Table] = {
    table.info["prefix"]: table for table in tables.tables.values() if table.info.get("prefix")
}
BY_KIND: dict[str, sa.Table] = {table.info["kind"]: table for table in tables.tables.values() if "kind" in table.info}

schema = WorldSchema(tables)
