"""Billing's tables: one per noun of the vendor, each row the object itself.

`body` is the object as it is shown (`objects/`); what lists and searches compare is derived from it at every write, so
that it cannot disagree with it.
"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from services.billing import due_dates
from services.billing import rows as ids
from services.billing.objects import catalogue
from services.billing.objects import credit_notes as credit_note
from services.billing.objects import customers as customer
from services.billing.objects import events as event
from services.billing.objects import invoice_lines as invoice_line
from services.billing.objects import invoices as invoice
from services.billing.objects import payments as payment
from services.billing.objects import subscriptions as subscription
from services.billing.rows import AccountRow, AnyBillingTable, BillingRow, BillingTable, BodyT, IdT, JournalRow
from services.kernel.documents import folded_column, number_column, text_column
from services.kernel.statements import define_table, derived_column
from services.kernel.template import WorldSchema

tables = sa.MetaData()


def _due_column(due_of: Callable[[Any], int | None]) -> sa.Column[Any]:
    return derived_column("due_at", lambda row: due_of(row["body"]), sa.Integer)


def _define(
    key: Callable[[Any], IdT],
    body: type[BodyT],
    name: str,
    kind: str,
    prefix: str,
    *columns: sa.Column[Any],
    created: str = "created",
) -> BillingTable[IdT, BodyT]:
    """A table whose derived columns are each indexed in the order in which lists are shown.

    `kind` is the vendor's name for the object, `prefix` begins its ids, `created` names the field with its time.
    """
    row: type[BillingRow[IdT, BodyT]] = BillingRow[key, body]  # type: ignore[valid-type]  # the types of this table
    return define_table(
        row,
        key,
        name,
        tables,
        number_column("created", created),
        *columns,
        sa.Index(f"{name}_in_order", "created", "seq"),
        *(sa.Index(f"{name}_by_{column.name}", column.name, "created", "seq") for column in columns),
        info={"kind": kind, "prefix": prefix},
    )


customers = _define(
    ids.CustomerId,
    customer.CustomerBody,
    "customers",
    "customer",
    "cus",
    text_column("email"),
    folded_column("email"),
    folded_column("name"),
    folded_column("phone"),
    number_column("deleted"),
)
tax_ids = _define(ids.TaxIdId, customer.TaxIdBody, "tax_ids", "tax_id", "txi", text_column("customer"))
balance_entries = _define(
    ids.BalanceEntryId,
    customer.BalanceEntryBody,
    "balance_entries",
    "customer_balance_transaction",
    "cbtxn",
    text_column("customer"),
)
products = _define(
    ids.ProductId,
    catalogue.ProductBody,
    "products",
    "product",
    "prod",
    number_column("active"),
    folded_column("name"),
)
prices = _define(
    ids.PriceId,
    catalogue.PriceBody,
    "prices",
    "price",
    "price",
    text_column("product"),
    number_column("active"),
    text_column("lookup_key"),
    text_column("currency"),
    text_column("type"),
)
coupons = _define(ids.CouponId, catalogue.CouponBody, "coupons", "coupon", "", number_column("deleted"))
promotion_codes = _define(
    ids.PromotionCodeId,
    catalogue.PromotionCodeBody,
    "promotion_codes",
    "promotion_code",
    "promo",
    text_column("code"),
    text_column("coupon", "promotion.coupon"),
    text_column("customer"),
    number_column("active"),
)
discounts = _define(
    ids.DiscountId,
    catalogue.DiscountBody,
    "discounts",
    "discount",
    "di",
    text_column("subscription"),
    _due_column(due_dates.of_discount),
    created="start",
)
subscriptions = _define(
    ids.SubscriptionId,
    subscription.SubscriptionBody,
    "subscriptions",
    "subscription",
    "sub",
    text_column("customer"),
    text_column("status"),
    text_column("collection_method"),
    number_column("canceled_at"),
    _due_column(due_dates.of_subscription),
)
subscription_items = _define(
    ids.SubscriptionItemId,
    subscription.SubscriptionItemBody,
    "subscription_items",
    "subscription_item",
    "si",
    text_column("subscription"),
    text_column("price", "price.id"),
)
schedules = _define(
    ids.ScheduleId,
    subscription.ScheduleBody,
    "schedules",
    "subscription_schedule",
    "sub_sched",
    text_column("customer"),
    text_column("subscription"),
    _due_column(due_dates.of_schedule),
)
invoices = _define(
    ids.InvoiceId,
    invoice.InvoiceBody,
    "invoices",
    "invoice",
    "in",
    text_column("customer"),
    text_column("status"),
    text_column("subscription", "parent.subscription_details.subscription"),
    text_column("collection_method"),
    text_column("number"),
    text_column("currency"),
    number_column("total"),
    number_column("due_date"),
    _due_column(due_dates.of_invoice),
)
invoice_lines = _define(
    ids.InvoiceLineId,
    invoice_line.InvoiceLineBody,
    "invoice_lines",
    "line_item",
    "il",
    text_column("invoice"),
    text_column("subscription_item", "_subscription_item"),
    created="_created",
)
invoice_items = _define(
    ids.InvoiceItemId,
    invoice_line.InvoiceItemBody,
    "invoice_items",
    "invoiceitem",
    "ii",
    text_column("customer"),
    text_column("invoice"),
    text_column("subscription", "parent.subscription_details.subscription"),
    created="date",
)
invoice_payments = _define(
    ids.InvoicePaymentId,
    invoice.InvoicePaymentBody,
    "invoice_payments",
    "invoice_payment",
    "inpay",
    text_column("invoice"),
    text_column("status"),
    text_column("payment_intent", "payment.payment_intent"),
)
credit_notes = _define(
    ids.CreditNoteId,
    credit_note.CreditNoteBody,
    "credit_notes",
    "credit_note",
    "cn",
    text_column("invoice"),
    text_column("customer"),
)
credit_note_lines = _define(
    ids.CreditNoteLineId,
    credit_note.CreditNoteLineBody,
    "credit_note_lines",
    "credit_note_line_item",
    "cnli",
    text_column("credit_note", "_credit_note"),
    created="_created",
)
charges = _define(
    ids.ChargeId,
    payment.ChargeBody,
    "charges",
    "charge",
    "ch",
    text_column("customer"),
    text_column("payment_intent"),
    text_column("status"),
    text_column("currency"),
    number_column("amount"),
    number_column("refunded"),
    number_column("disputed"),
    text_column("last4", "payment_method_details.card.last4"),
)
payment_intents = _define(
    ids.PaymentIntentId,
    payment.PaymentIntentBody,
    "payment_intents",
    "payment_intent",
    "pi",
    text_column("customer"),
    text_column("status"),
    text_column("currency"),
    number_column("amount"),
)
refunds = _define(
    ids.RefundId,
    payment.RefundBody,
    "refunds",
    "refund",
    "re",
    text_column("charge"),
    text_column("payment_intent"),
    _due_column(due_dates.of_refund),
)
payment_methods = _define(
    ids.PaymentMethodId,
    customer.PaymentMethodBody,
    "payment_methods",
    "payment_method",
    "pm",
    text_column("customer"),
    text_column("type"),
)
disputes = _define(
    ids.DisputeId,
    payment.DisputeBody,
    "disputes",
    "dispute",
    "du",
    text_column("charge"),
    text_column("payment_intent"),
    _due_column(due_dates.of_dispute),
)
events = _define(ids.EventId, event.EventBody, "events", "event", "evt", text_column("type"))
balance_transactions = _define(
    ids.BalanceTransactionId,
    payment.BalanceTransactionBody,
    "balance_transactions",
    "balance_transaction",
    "txn",
    text_column("source"),
    text_column("type"),
    text_column("currency"),
)
files = _define(ids.FileId, event.FileBody, "files", "file", "file", text_column("purpose"))
portal_sessions = _define(
    ids.PortalSessionId,
    event.PortalSessionBody,
    "portal_sessions",
    "billing_portal.session",
    "bps",
    text_column("customer"),
)

# One row: who bills, in which country, and what happens to those who do not pay.
account = define_table(
    AccountRow,
    ids.AccountId,
    "account",
    tables,
)

# Double entry: the amounts of one posting sum to zero. Assets and expenses are positive, so an account of the kind
# `credit:cus_…` reads exactly as the customer's balance does.
journal = define_table(
    JournalRow,
    ids.JournalEntryId,
    "journal",
    tables,
    sa.Index("journal_by_account", "account", "currency"),
    sa.Index("journal_by_posting", "posting"),
    sa.Index("journal_by_subject", "about"),
)

_OBJECTS: list[Any] = [table for table in tables.tables.values() if "kind" in table.info]
BY_PREFIX: dict[str, AnyBillingTable] = {table.info["prefix"]: table for table in _OBJECTS if table.info["prefix"]}
BY_KIND: dict[str, AnyBillingTable] = {table.info["kind"]: table for table in _OBJECTS}

schema = WorldSchema(tables)
