"""Customers, their tax ids and their balance."""

import re
from typing import Any

from services.billing.errors import InvalidRequest, NoSuchObject
from services.billing.objects.customers import (
    Address,
    BalanceEntryBody,
    CustomerBody,
    CustomerInvoiceSettings,
    PaymentMethodBody,
    Shipping,
    TaxIdBody,
    new_address,
    new_balance_entry,
    new_customer,
    new_tax_id,
)
from services.billing.operations import journal, records
from services.billing.operations.accounts import billing_account
from services.billing.operations.params import Params, merge_metadata, none_if_empty, pick, pick_changes
from services.billing.operations.payment_methods import from_ready_made
from services.billing.operations.records import DeletedObject, now
from services.billing.rows import BalanceEntryId, CustomerId, PaymentMethodId, TaxIdId
from services.billing.tables import balance_entries, customers, payment_methods, tax_ids
from services.kernel.world import World

_PLAIN = ("name", "email", "phone", "description", "tax_exempt", "preferred_locales")
_EU_VAT = re.compile(
    r"^(AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|XI)[0-9A-Z+*]{2,12}$"
)
_MOST_TAX_IDS = 5


def create(world: World, params: Params) -> CustomerBody:
    number = records.next_number(world, customers)
    prefix = records.new_token(world.ids, "prefix", number)[:8].upper()
    body = new_customer(created=now(world), prefix=prefix)
    body["id"] = CustomerId(records.new_id(world.ids, "cus", number))
    body |= _changes(world, body, params)
    body = records.add(world, customers, body, "customer.created")
    for tax_id in params.get("tax_id_data") or []:
        create_tax_id(world, body["id"], tax_id)
    if method := params.get("payment_method"):
        _attach(world, body["id"], from_ready_made(world, method))
    if params.get("balance"):
        body = adjust_balance(world, body, params["balance"])
    return records.must_exist(world, customers, body["id"])


def need_customer(world: World, key: CustomerId) -> CustomerBody:
    """Returns the customer that a path names, unless it was deleted."""
    body = records.need(world, customers, key)
    if body.get("deleted"):
        raise NoSuchObject("customer", key)
    return body


def update(world: World, key: CustomerId, params: Params) -> CustomerBody:
    body = need_customer(world, key)
    body = records.change(world, customers, body, _changes(world, body, params), "customer.updated")
    if "balance" in params:
        body = adjust_balance(world, body, params["balance"] - body["balance"])
    return body


def _changes(world: World, body: CustomerBody, params: Params) -> CustomerBody:
    changes: CustomerBody = pick(params, _PLAIN)
    if "tax_exempt" in changes:
        changes["tax_exempt"] = params["tax_exempt"] or "none"
    if "preferred_locales" in changes:
        changes["preferred_locales"] = changes["preferred_locales"] or []
    if "address" in params:
        changes["address"] = _merge_address(body["address"], params["address"])
    if "shipping" in params:
        changes["shipping"] = _shipping(params["shipping"])
    if "metadata" in params:
        changes["metadata"] = merge_metadata(body["metadata"], params["metadata"])
    if settings := params.get("invoice_settings"):
        changes["invoice_settings"] = _merge_settings(world, body, settings)
    if "invoice_prefix" in params:
        changes["invoice_prefix"] = params["invoice_prefix"]
    if "next_invoice_sequence" in params:
        changes["next_invoice_sequence"] = params["next_invoice_sequence"]
    return changes


def _merge_address(before: Address | None, params: Params | str) -> Address | None:
    if isinstance(params, str):
        return None
    return new_address({**(before or {}), **{name: none_if_empty(value) for name, value in params.items()}})


def _shipping(params: Params | str) -> Shipping | None:
    if isinstance(params, str):
        return None
    return {"address": new_address(params.get("address") or {}), "name": params["name"], "phone": params.get("phone")}


def _merge_settings(world: World, customer: CustomerBody, params: Params) -> CustomerInvoiceSettings:
    changes = pick(params, ("default_payment_method", "footer"))
    if method := changes.get("default_payment_method"):
        own_method(world, customer["id"], method, "invoice_settings[default_payment_method]")
    return {**customer["invoice_settings"], **changes}


def own_method(world: World, customer: CustomerId | None, method: PaymentMethodId, param: str) -> PaymentMethodBody:
    """Returns a payment method that this customer may pay with."""
    body = records.refer(world, payment_methods, method, param)
    if body["customer"] != customer:
        raise InvalidRequest(
            f"The customer does not have a payment method with the ID {method}. The payment method must be attached to "
            "the customer.",
            param,
            "resource_missing",
        )
    return body


def _attach(world: World, customer: CustomerId, method: PaymentMethodId) -> None:
    body = records.refer(world, payment_methods, method, "payment_method")
    if body["customer"] is not None:
        raise InvalidRequest("This payment method is attached to another customer.", "payment_method")
    records.change(world, payment_methods, body, {"customer": customer}, "payment_method.attached")


# --- tax ids --------------------------------------------------------------------------------------------------------


def create_tax_id(world: World, customer: CustomerId, params: Params) -> TaxIdBody:
    need_customer(world, customer)
    value = re.sub(r"[\s.-]", "", params["value"]).upper() if params["type"] == "eu_vat" else params["value"].strip()
    if not value or (params["type"] == "eu_vat" and not _EU_VAT.match(value)):
        raise InvalidRequest(f"Invalid value for {params['type']}.", "value", "tax_id_invalid")
    present = records.find_by(world, tax_ids, customer=customer)
    if len(present) >= _MOST_TAX_IDS:
        raise InvalidRequest(f"A customer can have at most {_MOST_TAX_IDS} tax IDs.", "customer")
    if any((tax_id["type"], tax_id["value"]) == (params["type"], value) for tax_id in present):
        raise InvalidRequest("This tax ID already exists on the customer.", "value", "resource_already_exists")
    body = new_tax_id(created=now(world), customer=customer, kind=params["type"], value=value)
    return records.add(world, tax_ids, body, "customer.tax_id.created")


def need_tax_id(world: World, key: TaxIdId, customer: CustomerId | None = None) -> TaxIdBody:
    body = records.need(world, tax_ids, key)
    if customer is not None and body["customer"] != customer:
        raise NoSuchObject("tax id", key)
    return body


def delete_tax_id(world: World, key: TaxIdId, customer: CustomerId | None = None) -> DeletedObject:
    return records.remove(world, tax_ids, need_tax_id(world, key, customer), "customer.tax_id.deleted")


# --- balance --------------------------------------------------------------------------------------------------------


def adjust_balance(
    world: World, customer: CustomerBody, amount: int, currency: str | None = None, **about: Any
) -> CustomerBody:
    """Moves a balance by hand: the other side of the posting is an adjustment."""
    currency = currency_for(world, customer, currency)
    customer = records.must_exist(world, customers, customer["id"])
    if amount:
        move_balance(world, customer, amount, currency, "adjustment", **about)
        amounts = {journal.credit(customer["id"]): amount, journal.ADJUSTMENTS: -amount}
        journal.post(world, customer["id"], currency, amounts)
    return records.must_exist(world, customers, customer["id"])


def move_balance(
    world: World, customer: CustomerBody, amount: int, currency: str, kind: str, **about: Any
) -> BalanceEntryBody:
    """Moves the balance and writes its line, with `about` in it; the caller posts to the journal."""
    ending = customer["balance"] + amount
    entry = new_balance_entry(
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


def create_balance_entry(world: World, key: CustomerId, params: Params) -> BalanceEntryBody:
    customer = need_customer(world, key)
    if params["amount"] == 0:
        raise InvalidRequest("Amount must be nonzero.", "amount")
    about = {"description": params.get("description"), "metadata": merge_metadata({}, params.get("metadata"))}
    adjust_balance(world, customer, params["amount"], params["currency"], **about)
    return records.find_by(world, balance_entries, customer=key)[-1]


def need_balance_entry(world: World, customer: CustomerId, key: BalanceEntryId) -> BalanceEntryBody:
    need_customer(world, customer)
    body = records.need(world, balance_entries, key)
    if body["customer"] != customer:
        raise NoSuchObject("customer balance transaction", key)
    return body


def update_balance_entry(world: World, customer: CustomerId, key: BalanceEntryId, params: Params) -> BalanceEntryBody:
    body = need_balance_entry(world, customer, key)
    changes: BalanceEntryBody = pick_changes(body, params, ("description",))
    return records.change(world, balance_entries, body, changes)


def currency_for(world: World, customer: CustomerBody, requested: str | None = None) -> str:
    """Returns the currency of a customer, who is billed in one currency from the first invoice on."""
    settled = customer["currency"]
    if requested is not None and settled is not None and requested != settled:
        raise InvalidRequest(
            "You cannot combine currencies on a single customer. This customer has had a subscription, invoice item or "
            f"balance in {settled}.",
            "currency",
        )
    return requested or settled or billing_account(world)["currency"]
