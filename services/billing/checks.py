"""What a task can check in billing. Each check looks at where the money is, not at notes beside it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from services.billing.created_checks import CustomerCreated, InvoiceCreated, SubscriptionCreated, fold
from services.billing.discount_checks import SubscriptionDiscounted
from services.billing.objects.payments import ChargeBody, RefundBody
from services.billing.objects.subscriptions import SubscriptionBody
from services.billing.operations import charges as charging
from services.billing.operations import journal, records
from services.billing.renewal_checks import RenewsWith
from services.billing.rows import ChargeId, CustomerId, InvoiceId, SubscriptionId
from services.billing.tables import (
    BY_PREFIX,
    charges,
    credit_notes,
    customers,
    discounts,
    invoices,
    payment_methods,
    refunds,
    subscription_items,
    subscriptions,
    tax_ids,
)
from services.kernel.changes import AGENT, Change
from services.kernel.checks import Check, Finding, checks_by_name
from services.kernel.judging import value_at
from services.kernel.world import World

# Tables whose rows only follow from others.
_DERIVED_TABLES = frozenset(
    {"events", "journal", "balance_transactions", "balance_entries", "invoice_lines", "invoice_payments"}
)


class ChargeRefunded(Check):
    """Exactly this much of the charge went back to this customer, and was not taken again."""

    charge: ChargeId
    amount: int
    customer: CustomerId
    reason: str | None = None

    def run(self, world: World) -> Finding:
        body = records.get(world, charges, self.charge)
        if body is None or body["customer"] != self.customer:
            return self.fails(f"{self.charge} is no charge of {self.customer}")
        valid_refunds = [
            refund for refund in records.find_by(world, refunds, charge=self.charge) if refund["status"] != "canceled"
        ]
        return replace(self._compare(world, body, valid_refunds), names=tuple(refund["id"] for refund in valid_refunds))

    def _compare(self, world: World, body: ChargeBody, valid_refunds: list[RefundBody]) -> Finding:
        back = sum(journal.sum_postings(world, refund["id"], journal.REFUNDED) for refund in valid_refunds)
        if back != self.amount or body["amount_refunded"] != self.amount:
            return self.fails(f"{back} of {self.charge} went back, not {self.amount}")
        if self.reason is not None and not any(refund["reason"] == self.reason for refund in valid_refunds):
            return self.fails(f"no refund of {self.charge} gives {self.reason} as its reason")
        if again := _list_charges_by_agent(world, self.customer):
            return self.fails(f"{again[0]} took money from {self.customer} again")
        return self.holds(f"{self.amount} of {self.charge} went back to {self.customer}")


class NothingElseRefunded(Check):
    """Of all charges only these were refunded, and no other customer's balance was credited."""

    charges: list[str]
    credited: tuple[str, ...] = ()

    def run(self, world: World) -> Finding:
        for change in _by_agent(world, refunds):
            charge = (change.after or change.before or {})["body"]["charge"]
            if charge not in self.charges:
                return self.fails(f"{charge} was refunded by {change.row_id}")
        for change in _by_agent(world, customers):
            before = (change.before or {"body": {"balance": 0}})["body"]["balance"]
            after = (change.after or {"body": {"balance": 0}})["body"]["balance"]
            if after < before and change.row_id not in self.credited:
                return self.fails(f"{change.row_id} was credited {before - after}")
        return self.holds("no other refund and no other credit was given")


class NotChargedAgain(Check):
    """Nobody took money from this customer."""

    customer: CustomerId

    def run(self, world: World) -> Finding:
        if taken := _list_charges_by_agent(world, self.customer):
            return self.fails(f"{', '.join(taken)} took money from {self.customer}")
        return self.holds(f"nothing was taken from {self.customer}")


class SubscriptionIs(Check):
    """The subscription is of this customer, in this state, with exactly these prices and quantities."""

    subscription: SubscriptionId
    customer: CustomerId
    status: str | None = None
    cancel_at_period_end: bool | None = None
    collection_paused: bool | None = None
    items: dict[str, int] | None = None
    coupons: list[str] | None = None

    def run(self, world: World) -> Finding:
        body = records.get(world, subscriptions, self.subscription)
        if body is None or body["customer"] != self.customer:
            return self.fails(f"{self.subscription} is no subscription of {self.customer}")
        actual = {
            "status": body["status"],
            # A date that is the end of the period says the same.
            "cancel_at_period_end": body["cancel_at_period_end"] or body["cancel_at"] == body["_period_end"],
            "collection_paused": body["pause_collection"] is not None,
            "items": _items(world, self.subscription),
            "coupons": _coupons(world, body),
        }
        for name, value in actual.items():
            wanted = getattr(self, name)
            if wanted is not None and wanted != value:
                return self.fails(f"{self.subscription}: {name} is {value}, not {wanted}")
        return self.holds(f"{self.subscription} is as it should be")


class InvoiceIs(Check):
    """The invoice is of this customer and in this state; paid means that money or credit covered it."""

    invoice: InvoiceId
    customer: CustomerId
    status: str
    total: int | None = None
    amount_remaining: int | None = None
    vat_id: str | None = None
    # Whether the money must have come through billing, not by other means that somebody only claims.
    collected: bool = False

    def run(self, world: World) -> Finding:
        body = records.get(world, invoices, self.invoice)
        if body is None or body["customer"] != self.customer:
            return self.fails(f"{self.invoice} is no invoice of {self.customer}")
        actual = {"status": body["status"], "total": body["total"], "amount_remaining": body["amount_remaining"]}
        for name, value in actual.items():
            wanted = getattr(self, name)
            if wanted is not None and value != wanted:
                return self.fails(f"{self.invoice}: {name} is {value}, not {wanted}")
        if self.collected and journal.sum_postings(world, self.invoice, journal.OUT_OF_BAND):
            return self.fails(f"{self.invoice} was not collected: it was called paid by other means")
        tax_id_values = [tax_id["value"] for tax_id in body["customer_tax_ids"] or []]
        if self.vat_id is not None and self.vat_id not in tax_id_values:
            return self.fails(f"{self.invoice} names {tax_id_values or 'no tax id'}, not {self.vat_id}")
        return self.holds(f"{self.invoice} is {self.status}")


class BalanceIs(Check):
    """The customer's balance is this, in the books as on the customer."""

    customer: CustomerId
    amount: int
    currency: str

    def run(self, world: World) -> Finding:
        body = records.get(world, customers, self.customer)
        if body is None or body.get("deleted"):
            return self.fails(f"{self.customer} is gone")
        booked = journal.balance(world, journal.credit(self.customer), self.currency)
        if (body["balance"], booked) != (self.amount, self.amount):
            return self.fails(f"the balance of {self.customer} is {body['balance']}, not {self.amount}")
        return self.holds(f"the balance of {self.customer} is {self.amount}")


class CreditNoteIssued(Check):
    """The invoice was credited by exactly this amount."""

    invoice: InvoiceId
    amount: int
    refunded: int | None = None

    def run(self, world: World) -> Finding:
        notes = [
            note for note in records.find_by(world, credit_notes, invoice=self.invoice) if note["status"] == "issued"
        ]
        credited = sum(note["amount"] for note in notes)
        if credited != self.amount:
            return self.fails(f"{self.invoice} was credited {credited}, not {self.amount}")
        back = sum(link["amount_refunded"] for note in notes for link in note["refunds"])
        if self.refunded is not None and back != self.refunded:
            return self.fails(f"credit notes of {self.invoice} refund {back}, not {self.refunded}")
        return self.holds(f"{self.invoice} was credited {credited}")


class TaxIdOnFile(Check):
    """The customer has this tax id, and no other of these kinds; punctuation and case do not matter."""

    customer: CustomerId
    # Billing's names for it: countries have several.
    type: str | tuple[str, ...]
    value: str

    def run(self, world: World) -> Finding:
        bodies = records.find_by(world, tax_ids, customer=self.customer)
        types = (self.type,) if isinstance(self.type, str) else self.type
        values = [tax_id["value"] for tax_id in bodies if tax_id["type"] in types]
        if [_letters_and_digits(value) for value in values] != [_letters_and_digits(self.value)]:
            return self.fails(f"{self.customer} has {values or 'none'} as {' or '.join(types)}, not {self.value}")
        return self.holds(f"{self.customer} has {self.value}")


class CanBeCharged(Check):
    """The customer's default payment method is theirs and would be honoured."""

    customer: CustomerId

    def run(self, world: World) -> Finding:
        body = records.get(world, customers, self.customer)
        key = None if body is None or body.get("deleted") else body["invoice_settings"]["default_payment_method"]
        method = records.get(world, payment_methods, key) if key else None
        if method is None or method["customer"] != self.customer:
            return self.fails(f"{self.customer} has no default payment method")
        if charging.is_expired(world, method):
            return self.fails(f"{key} has expired")
        if method["_refuses_with"] is not None:
            return self.fails(f"{key} is refused with {method['_refuses_with']}")
        return self.holds(f"{self.customer} can be charged by {key}")


class CustomerHasValues(Check):
    """The customer has these values, by dotted path; texts are compared without case and spacing."""

    customer: CustomerId
    values: dict[str, str | int | bool | None]

    def run(self, world: World) -> Finding:
        body = records.get(world, customers, self.customer)
        if body is None or body.get("deleted"):
            return self.fails(f"{self.customer} is gone")
        for path, wanted in self.values.items():
            if fold(value := value_at(body, path)) != fold(wanted):
                return self.fails(f"{self.customer}: {path} is {value!r}, not {wanted!r}")
        return self.holds(f"{self.customer} has {', '.join(f'{path} {value}' for path, value in self.values.items())}")


class OnlyTouched(Check):
    """Whatever was changed belongs to one of these customers."""

    customers: list[str]

    def run(self, world: World) -> Finding:
        for change in world.changes(by=(AGENT,)):
            if change.table in _DERIVED_TABLES:
                continue
            owner = _owner(world, change)
            if owner not in self.customers:
                return self.fails(f"{change.table} {change.row_id} of {owner or 'nobody in particular'} was changed")
        return self.holds(f"only {', '.join(self.customers) or 'nobody'} was touched")


def _letters_and_digits(text: str) -> str:
    return "".join(letter for letter in text.upper() if letter.isalnum())


def _by_agent(world: World, table: sa.Table) -> list[Change]:
    return world.changes(table=table, by=(AGENT,))


def _list_charges_by_agent(world: World, customer: str) -> list[str]:
    created = [change.after["body"] for change in _by_agent(world, charges) if change.before is None and change.after]
    return [charge["id"] for charge in created if charge["customer"] == customer and charge["status"] == "succeeded"]


def _items(world: World, subscription: SubscriptionId) -> dict[str, int]:
    bodies = records.find_by(world, subscription_items, subscription=subscription)
    return {item["price"]["id"]: item["quantity"] for item in bodies}


def _coupons(world: World, body: SubscriptionBody) -> list[str]:
    return sorted(records.must_exist(world, discounts, key)["source"]["coupon"] for key in body["discounts"])


def _owner(world: World, change: Change) -> str | None:
    """Returns the customer of a changed row; through its charge, invoice or subscription where it names none."""
    body: Mapping[str, Any] = (change.after or change.before or {}).get("body", {})
    if change.table == customers.name:
        return str(change.row_id)
    for _ in range(4):
        if isinstance(body.get("customer"), str):
            return str(body["customer"])
        link = next(
            (body[name] for name in ("charge", "invoice", "subscription", "payment_intent") if body.get(name)), None
        )
        table = BY_PREFIX.get(str(link).rpartition("_")[0]) if link else None
        linked = records.get(world, table, link) if table is not None and isinstance(link, str) else None
        if linked is None:
            return _former_owner(change)
        body = linked
    return None


def _former_owner(change: Change) -> str | None:
    """Returns the customer from whom a payment method was detached."""
    before = (change.before or {}).get("body", {})
    owner = before.get("customer")
    return owner if isinstance(owner, str) else None


checks = checks_by_name(
    ChargeRefunded,
    NothingElseRefunded,
    NotChargedAgain,
    SubscriptionIs,
    SubscriptionDiscounted,
    RenewsWith,
    InvoiceIs,
    BalanceIs,
    CreditNoteIssued,
    TaxIdOnFile,
    CanBeCharged,
    CustomerHasValues,
    OnlyTouched,
    CustomerCreated,
    SubscriptionCreated,
    InvoiceCreated,
)
