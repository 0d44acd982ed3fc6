"""Customers, their tax ids and their balance with us."""

import re
from typing import Any

from services.billing.errors import InvalidRequest, NoSuchObject
from services.billing.operations import journal, listing, records
from services.billing.operations.accounts import billing_account
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import parties
from services.billing.tables import balance_entries, customers, payment_methods, tax_ids
from services.kernel.world import World

Given = dict[str, Any]

_PLAIN = ("name", "email", "phone", "description", "tax_exempt", "preferred_locales")
_EU_VAT = re.compile(
    r"^(AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|XI)[0-9A-Z+*]{2,12}$"
)
_MOST_TAX_IDS = 5


def create(world: World, given: Given) -> Body:
    number = records.upcoming(world, customers)
    prefix = records.new_id("", number)[1:9].upper()
    body = parties.customer(created=now(world), prefix=prefix)
    body |= {"id": records.new_id("cus", number)}
    body |= _changes(world, body, given)
    body = records.add(world, customers, body, "customer.created")
    for one in given.get("tax_id_data") or []:
        add_tax_id(world, body["id"], one)
    if method := given.get("payment_method"):
        _adopt(world, body["id"], method)
    if given.get("balance"):
        body = adjust(world, body, given["balance"], "adjustment")
    return records.known(world, customers, body["id"])


def read(world: World, key: str) -> Body:
    return records.need(world, customers, key)


def living(world: World, key: str) -> Body:
    """A customer in the path who can still be worked with."""
    body = records.need(world, customers, key)
    if body.get("deleted"):
        raise NoSuchObject("customer", key)
    return body


def update(world: World, key: str, given: Given) -> Body:
    body = living(world, key)
    body = records.change(world, customers, body, _changes(world, body, given), "customer.updated")
    if "balance" in given:
        body = adjust(world, body, given["balance"] - body["balance"], "adjustment")
    return body


def _changes(world: World, body: Body, given: Given) -> Body:
    changes: Body = {name: cleared(given[name]) for name in _PLAIN if name in given}
    if "tax_exempt" in changes:
        changes["tax_exempt"] = changes["tax_exempt"] or "none"
    if "preferred_locales" in changes:
        changes["preferred_locales"] = changes["preferred_locales"] or []
    if "address" in given:
        changes["address"] = _merged_address(body["address"], given["address"])
    if "shipping" in given:
        changes["shipping"] = _shipping(given["shipping"])
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    if settings := given.get("invoice_settings"):
        changes["invoice_settings"] = {**body["invoice_settings"], **_settings(world, body["id"], settings)}
    if "invoice_prefix" in given:
        changes["invoice_prefix"] = given["invoice_prefix"]
    if "next_invoice_sequence" in given:
        changes["next_invoice_sequence"] = given["next_invoice_sequence"]
    return changes


def _merged_address(before: Body | None, given: Body | str) -> Body | None:
    if isinstance(given, str):
        return None
    return parties.address({**(before or {}), **{name: cleared(value) for name, value in given.items()}})


def _shipping(given: Body | str) -> Body | None:
    if isinstance(given, str):
        return None
    return {"address": parties.address(given.get("address") or {}), "name": given["name"], "phone": given.get("phone")}


def _settings(world: World, customer: str, given: Given) -> Body:
    changes: Body = {name: cleared(given[name]) for name in ("default_payment_method", "footer") if name in given}
    if method := changes.get("default_payment_method"):
        own_method(world, customer, method, "invoice_settings[default_payment_method]")
    return changes


def own_method(world: World, customer: str, method: str, param: str) -> Body:
    """A payment method that this customer may pay with."""
    body = records.refer(world, payment_methods, method, param)
    if body["customer"] != customer:
        raise InvalidRequest(
            f"The customer does not have a payment method with the ID {method}. The payment method must be attached to "
            "the customer.",
            param,
            "resource_missing",
        )
    return body


def _adopt(world: World, customer: str, method: str) -> None:
    body = records.refer(world, payment_methods, method, "payment_method")
    if body["customer"] is not None:
        raise InvalidRequest("This payment method is attached to another customer.", "payment_method")
    records.change(world, payment_methods, body, {"customer": customer}, "payment_method.attached")


# --- tax ids --------------------------------------------------------------------------------------------------------


def add_tax_id(world: World, customer: str, given: Given) -> Body:
    living(world, customer)
    value = re.sub(r"[\s.-]", "", given["value"]).upper() if given["type"] == "eu_vat" else given["value"].strip()
    if not value or (given["type"] == "eu_vat" and not _EU_VAT.match(value)):
        raise InvalidRequest(f"Invalid value for {given['type']}.", "value", "tax_id_invalid")
    present = listing.of(world, tax_ids, customer=customer)
    if len(present) >= _MOST_TAX_IDS:
        raise InvalidRequest(f"A customer can have at most {_MOST_TAX_IDS} tax IDs.", "customer")
    if any((one["type"], one["value"]) == (given["type"], value) for one in present):
        raise InvalidRequest("This tax ID already exists on the customer.", "value", "resource_already_exists")
    body = parties.tax_id(created=now(world), customer=customer, kind=given["type"], value=value)
    return records.add(world, tax_ids, body, "customer.tax_id.created")


def tax_id(world: World, key: str, customer: str | None = None) -> Body:
    body = records.need(world, tax_ids, key)
    if customer is not None and body["customer"] != customer:
        raise NoSuchObject("tax id", key)
    return body


def drop_tax_id(world: World, key: str, customer: str | None = None) -> Body:
    return records.remove(world, tax_ids, tax_id(world, key, customer), "customer.tax_id.deleted")


# --- balance --------------------------------------------------------------------------------------------------------


def adjust(world: World, customer: Body, amount: int, kind: str, **about: Any) -> Body:
    """By hand: the other side of the entry is an adjustment."""
    currency = currency_for(world, customer, about.pop("currency", None))
    customer = records.known(world, customers, customer["id"])
    if amount:
        enter(world, customer, amount, currency, kind, **about)
        amounts = {journal.credit(customer["id"]): amount, journal.ADJUSTMENTS: -amount}
        journal.post(world, customer["id"], currency, amounts)
    return records.known(world, customers, customer["id"])


def enter(world: World, customer: Body, amount: int, currency: str, kind: str, **about: Any) -> Body:
    """Move the balance and write its line; the journal is the caller's."""
    ending = customer["balance"] + amount
    entry = parties.balance_entry(
        created=now(world),
        customer=customer["id"],
        amount=amount,
        ending=ending,
        currency=currency,
        kind=kind,
        **about,
    )
    entry = records.add(world, balance_entries, entry)
    records.change(world, customers, customer, {"balance": ending, "currency": currency}, "customer.updated")
    return entry


def give_credit(world: World, key: str, given: Given) -> Body:
    customer = living(world, key)
    if given["amount"] == 0:
        raise InvalidRequest("Amount must be nonzero.", "amount")
    about = {"description": given.get("description"), "metadata": merged({}, given.get("metadata"))}
    adjust(world, customer, given["amount"], "adjustment", currency=given["currency"], **about)
    return listing.of(world, balance_entries, customer=key)[-1]


def balance_entry(world: World, customer: str, key: str) -> Body:
    living(world, customer)
    body = records.need(world, balance_entries, key)
    if body["customer"] != customer:
        raise NoSuchObject("customer balance transaction", key)
    return body


def annotate_entry(world: World, customer: str, key: str, given: Given) -> Body:
    body = balance_entry(world, customer, key)
    changes: Body = {}
    if "description" in given:
        changes["description"] = cleared(given["description"])
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    return records.change(world, balance_entries, body, changes)


def currency_for(world: World, customer: Body, wanted: str | None = None) -> str:
    """A customer is billed in one currency from the first bill on."""
    settled: str | None = customer["currency"]
    if wanted is not None and settled is not None and wanted != settled:
        raise InvalidRequest(
            "You cannot combine currencies on a single customer. This customer has had a subscription, invoice item or "
            f"balance in {settled}.",
            "currency",
        )
    return wanted or settled or str(billing_account(world)["currency"])
