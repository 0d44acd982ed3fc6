"""What a task can ask of billing. Each looks at where the money is, not at what somebody wrote beside it."""

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from services.billing.newcomers import CustomerMade, InvoiceMade, SubscriptionMade
from services.billing.operations import journal, listing, records
from services.billing.tables import (
    BY_PREFIX,
    charges,
    credit_notes,
    customers,
    invoices,
    payment_methods,
    refunds,
    subscription_items,
    subscriptions,
    tables,
    tax_ids,
)
from services.kernel.changes import AGENT, Change
from services.kernel.checks import Check, Finding, named
from services.kernel.clock import moment
from services.kernel.world import World

Body = dict[str, Any]

# Rows that only follow from others.
_TRACES = frozenset(
    {"events", "journal", "balance_transactions", "balance_entries", "invoice_lines", "invoice_payments"}
)


class ChargeRefunded(Check):
    """So much of this charge, and no more, went back to this customer, and was not taken again."""

    charge: str
    amount: int
    customer: str
    reason: str | None = None

    def ask(self, world: World) -> Finding:
        body = records.get(world, charges, self.charge)
        if body is None or body["customer"] != self.customer:
            return self.failed(f"{self.charge} is no charge of {self.customer}")
        given = [one for one in listing.of(world, refunds, charge=self.charge) if one["status"] != "canceled"]
        return replace(self._judged(world, body, given), names=tuple(one["id"] for one in given))

    def _judged(self, world: World, body: Body, given: list[Body]) -> Finding:
        back = sum(_moved(world, one["id"], journal.REFUNDED) for one in given)
        if back != self.amount or body["amount_refunded"] != self.amount:
            return self.failed(f"{back} of {self.charge} went back, not {self.amount}")
        if self.reason is not None and not any(one["reason"] == self.reason for one in given):
            return self.failed(f"no refund of {self.charge} gives {self.reason} as its reason")
        if again := _charged_by_agent(world, self.customer):
            return self.failed(f"{again[0]} took money from {self.customer} again")
        return self.held(f"{self.amount} of {self.charge} went back to {self.customer}")


class NothingElseRefunded(Check):
    """Of all charges only these were refunded, and no other customer's balance was credited."""

    charges: list[str]
    credited: tuple[str, ...] = ()

    def ask(self, world: World) -> Finding:
        for change in _by_agent(world, refunds):
            charge = (change.after or change.before or {})["body"]["charge"]
            if charge not in self.charges:
                return self.failed(f"{charge} was refunded by {change.row_id}")
        for change in _by_agent(world, customers):
            before = (change.before or {"body": {"balance": 0}})["body"]["balance"]
            after = (change.after or {"body": {"balance": 0}})["body"]["balance"]
            if after < before and change.row_id not in self.credited:
                return self.failed(f"{change.row_id} was credited {before - after}")
        return self.held("no other refund and no other credit was given")


class NotChargedAgain(Check):
    """Nobody took money from this customer."""

    customer: str

    def ask(self, world: World) -> Finding:
        if taken := _charged_by_agent(world, self.customer):
            return self.failed(f"{', '.join(taken)} took money from {self.customer}")
        return self.held(f"nothing was taken from {self.customer}")


class SubscriptionIs(Check):
    """The subscription is of this customer, in this state, with exactly these prices and quantities."""

    subscription: str
    customer: str
    status: str | None = None
    cancel_at_period_end: bool | None = None
    collection_paused: bool | None = None
    items: dict[str, int] | None = None
    coupons: list[str] | None = None

    def ask(self, world: World) -> Finding:
        body = records.get(world, subscriptions, self.subscription)
        if body is None or body["customer"] != self.customer:
            return self.failed(f"{self.subscription} is no subscription of {self.customer}")
        actual = {
            "status": body["status"],
            "cancel_at_period_end": body["cancel_at_period_end"],
            "collection_paused": body["pause_collection"] is not None,
            "items": _items(world, self.subscription),
            "coupons": _coupons(world, body),
        }
        for name, is_so in actual.items():
            wanted = getattr(self, name)
            if wanted is not None and wanted != is_so:
                return self.failed(f"{self.subscription}: {name} is {is_so}, not {wanted}")
        return self.held(f"{self.subscription} is as it should be")


class InvoiceIs(Check):
    """The invoice is of this customer and in this state; paid means that money or credit covered it."""

    invoice: str
    customer: str
    status: str
    total: int | None = None
    amount_remaining: int | None = None
    vat_id: str | None = None
    # Whether the money must have come through us, not by other means that somebody only says there were.
    collected: bool = False

    def ask(self, world: World) -> Finding:
        body = records.get(world, invoices, self.invoice)
        if body is None or body["customer"] != self.customer:
            return self.failed(f"{self.invoice} is no invoice of {self.customer}")
        for name in ("status", "total", "amount_remaining"):
            wanted = getattr(self, name)
            if wanted is not None and body[name] != wanted:
                return self.failed(f"{self.invoice}: {name} is {body[name]}, not {wanted}")
        if self.collected and _moved(world, self.invoice, journal.OUT_OF_BAND):
            return self.failed(f"{self.invoice} was not collected: it was called paid by other means")
        written = [one["value"] for one in body["customer_tax_ids"] or []]
        if self.vat_id is not None and self.vat_id not in written:
            return self.failed(f"{self.invoice} names {written or 'no tax id'}, not {self.vat_id}")
        return self.held(f"{self.invoice} is {self.status}")


class BalanceIs(Check):
    """The customer's balance is this, in the books as on the customer."""

    customer: str
    amount: int
    currency: str

    def ask(self, world: World) -> Finding:
        body = records.get(world, customers, self.customer)
        if body is None or body.get("deleted"):
            return self.failed(f"{self.customer} is gone")
        booked = journal.balance(world, journal.credit(self.customer), self.currency)
        if (body["balance"], booked) != (self.amount, self.amount):
            return self.failed(f"the balance of {self.customer} is {body['balance']}, not {self.amount}")
        return self.held(f"the balance of {self.customer} is {self.amount}")


class CreditNoteIssued(Check):
    """The invoice was credited by exactly so much."""

    invoice: str
    amount: int
    refunded: int | None = None

    def ask(self, world: World) -> Finding:
        notes = [one for one in listing.of(world, credit_notes, invoice=self.invoice) if one["status"] == "issued"]
        credited = sum(one["amount"] for one in notes)
        if credited != self.amount:
            return self.failed(f"{self.invoice} was credited {credited}, not {self.amount}")
        back = sum(one["amount_refunded"] for note in notes for one in note["refunds"])
        if self.refunded is not None and back != self.refunded:
            return self.failed(f"credit notes of {self.invoice} refund {back}, not {self.refunded}")
        return self.held(f"{self.invoice} was credited {credited}")


class TaxIdOnFile(Check):
    """The customer has this tax id, and no other of its kind."""

    customer: str
    type: str
    value: str

    def ask(self, world: World) -> Finding:
        known = [one["value"] for one in listing.of(world, tax_ids, customer=self.customer) if one["type"] == self.type]
        if known != [self.value]:
            return self.failed(f"{self.customer} has {known or 'none'} as {self.type}, not {self.value}")
        return self.held(f"{self.customer} has {self.value}")


class CanBeCharged(Check):
    """The customer's default payment method is theirs and would be honoured."""

    customer: str

    def ask(self, world: World) -> Finding:
        body = records.get(world, customers, self.customer)
        key = None if body is None or body.get("deleted") else body["invoice_settings"]["default_payment_method"]
        method = records.get(world, payment_methods, key) if key else None
        if method is None or method["customer"] != self.customer:
            return self.failed(f"{self.customer} has no default payment method")
        at = moment(world.clock.now_ms())
        card = method.get("card")
        if card is not None and (card["exp_year"], card["exp_month"]) < (at.year, at.month):
            return self.failed(f"{key} has expired")
        if method["_refuses_with"] is not None:
            return self.failed(f"{key} is refused with {method['_refuses_with']}")
        return self.held(f"{self.customer} can be charged by {key}")


class CustomerReads(Check):
    """Fields of the customer, by dotted path, read so."""

    customer: str
    values: dict[str, str | int | bool | None]

    def ask(self, world: World) -> Finding:
        body = records.get(world, customers, self.customer)
        if body is None or body.get("deleted"):
            return self.failed(f"{self.customer} is gone")
        for path, wanted in self.values.items():
            found: Any = body
            for name in path.split("."):
                found = found.get(name) if isinstance(found, dict) else None
            if found != wanted:
                return self.failed(f"{self.customer}: {path} reads {found!r}, not {wanted!r}")
        return self.held(f"{self.customer} reads {self.values}")


class OnlyTouched(Check):
    """Whatever was changed belongs to one of these customers."""

    customers: list[str]

    def ask(self, world: World) -> Finding:
        for change in world.changes(by=(AGENT,)):
            if change.table in _TRACES:
                continue
            owner = _owner(world, change)
            if owner not in self.customers:
                return self.failed(f"{change.table} {change.row_id} of {owner or 'nobody in particular'} was changed")
        return self.held(f"only {', '.join(self.customers) or 'nobody'} was touched")


def _moved(world: World, about: str, account: str) -> int:
    statement = "SELECT coalesce(sum(amount), 0) FROM journal WHERE about = ? AND account = ?"
    return int(world.rows(statement, (about, account))[0][0])


def _by_agent(world: World, table: sa.Table) -> list[Change]:
    return world.changes(table=table, by=(AGENT,))


def _charged_by_agent(world: World, customer: str) -> list[str]:
    made = [change.after["body"] for change in _by_agent(world, charges) if change.before is None and change.after]
    return [one["id"] for one in made if one["customer"] == customer and one["status"] == "succeeded"]


def _items(world: World, subscription: str) -> dict[str, int]:
    found = listing.of(world, subscription_items, subscription=subscription)
    return {item["price"]["id"]: item["quantity"] for item in found}


def _coupons(world: World, body: Body) -> list[str]:
    found = [records.known(world, tables.tables["discounts"], key) for key in body["discounts"]]
    return sorted(one["source"]["coupon"] for one in found)


def _owner(world: World, change: Change) -> str | None:
    """The customer whom a changed row concerns; through its charge, invoice or subscription where it names none."""
    body = (change.after or change.before or {}).get("body", {})
    if change.table == customers.name:
        return str(change.row_id)
    for _ in range(4):
        if isinstance(body.get("customer"), str):
            return str(body["customer"])
        link = next(
            (body[name] for name in ("charge", "invoice", "subscription", "payment_intent") if body.get(name)), None
        )
        table = BY_PREFIX.get(str(link).rpartition("_")[0]) if link else None
        found = records.get(world, table, link) if table is not None and isinstance(link, str) else None
        if found is None:
            return _former_owner(change)
        body = found
    return None


def _former_owner(change: Change) -> str | None:
    """A payment method that was detached concerns whom it was detached from."""
    before = (change.before or {}).get("body", {})
    owner = before.get("customer")
    return owner if isinstance(owner, str) else None


checks = named(
    ChargeRefunded,
    NothingElseRefunded,
    NotChargedAgain,
    SubscriptionIs,
    InvoiceIs,
    BalanceIs,
    CreditNoteIssued,
    TaxIdOnFile,
    CanBeCharged,
    CustomerReads,
    OnlyTouched,
    CustomerMade,
    SubscriptionMade,
    InvoiceMade,
)
