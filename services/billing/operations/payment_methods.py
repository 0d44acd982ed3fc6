"""Payment methods: created, attached once, detached for good."""

import hashlib
from typing import Any

from services.billing.errors import InvalidRequest
from services.billing.objects.customers import (
    BillingDetails,
    Card,
    PaymentMethodBody,
    SepaDebit,
    new_address,
    new_card,
    new_payment_method,
    new_sepa_debit,
)
from services.billing.operations import records, test_mode
from services.billing.operations.params import Params, merge_metadata, pick
from services.billing.operations.records import now
from services.billing.rows import CustomerId, PaymentMethodId
from services.billing.tables import customers, payment_methods, subscriptions
from services.kernel.clock import to_datetime
from services.kernel.world import World

_BRANDS = (("4", "visa"), ("5", "mastercard"), ("2", "mastercard"), ("34", "amex"), ("37", "amex"), ("6", "discover"))
_YEARS_VALID = 3


def create(world: World, params: Params) -> PaymentMethodBody:
    kind = params["type"]
    details = params.get(kind)
    if not details:
        raise InvalidRequest(f"Missing required param: {kind}.", kind, "parameter_missing")
    account = _card(world, details) if kind == "card" else _debit(details)
    body = new_payment_method(created=now(world), kind=kind, details=account)
    if kind == "card" and (refusal := test_mode.find_refusal(world, details["number"])) is not None:
        body["_refuses_with"] = refusal
    body["billing_details"] = _merge_details(body["billing_details"], params.get("billing_details") or {})
    body["metadata"] = merge_metadata({}, params.get("metadata"))
    return records.add(world, payment_methods, body)


def from_ready_made(world: World, key: PaymentMethodId) -> PaymentMethodId:
    """Returns the id of a new payment method for a ready-made name of the vendor's, and any other id as it is."""
    number = test_mode.ready_made_number(world, key)
    if number is None:
        return key
    year = to_datetime(world.clock.now_ms()).year + _YEARS_VALID
    card = {"number": number, "exp_month": 12, "exp_year": year, "cvc": "123"}
    return create(world, {"type": "card", "card": card})["id"]


def update(world: World, key: PaymentMethodId, params: Params) -> PaymentMethodBody:
    body = records.need(world, payment_methods, key)
    changes: PaymentMethodBody = {}
    if card := params.get("card"):
        if body["type"] != "card":
            raise InvalidRequest("You can only update a card on a payment method of type card.", "card")
        changes["card"] = {**body["card"], **_expiry(world, {**body["card"], **card})}
    if details := params.get("billing_details"):
        changes["billing_details"] = _merge_details(body["billing_details"], details)
    if "metadata" in params:
        changes["metadata"] = merge_metadata(body["metadata"], params["metadata"])
    _require_attached(body)
    return records.change(world, payment_methods, body, changes, "payment_method.updated")


def attach(world: World, key: PaymentMethodId, customer: CustomerId) -> PaymentMethodBody:
    body = records.need(world, payment_methods, from_ready_made(world, key))
    records.refer(world, customers, customer, "customer")
    if body["customer"] == customer:
        return body
    if body["customer"] is not None:
        raise InvalidRequest(
            "The payment method you provided has already been attached to a customer.", "payment_method"
        )
    if body.get("_detached"):
        raise InvalidRequest(
            "This PaymentMethod was previously used without being attached to a Customer or was detached from a "
            "Customer, and may not be used again.",
            "payment_method",
        )
    return records.change(world, payment_methods, body, {"customer": customer}, "payment_method.attached")


def detach(world: World, key: PaymentMethodId) -> PaymentMethodBody:
    """Detaches for good; whoever paid with it by default has no default afterwards."""
    body = records.need(world, payment_methods, key)
    owner = _require_attached(body)
    customer = records.must_exist(world, customers, owner)
    settings = customer["invoice_settings"]
    if settings["default_payment_method"] == key:
        changes = {"invoice_settings": {**settings, "default_payment_method": None}}
        records.change(world, customers, customer, changes, "customer.updated")
    for subscription in records.find_by(world, subscriptions, customer=customer["id"]):
        if subscription["default_payment_method"] == key:
            records.change(world, subscriptions, subscription, {"default_payment_method": None})
    return records.change(
        world, payment_methods, body, {"customer": None, "_detached": True}, "payment_method.detached"
    )


def _require_attached(body: PaymentMethodBody) -> CustomerId:
    if body["customer"] is None:
        raise InvalidRequest("The payment method you provided is not attached to a customer.", "payment_method")
    return body["customer"]


def _card(world: World, params: Params) -> Card:
    number = params.get("number", "")
    if not (number.isascii() and number.isdigit() and 13 <= len(number) <= 19 and _luhn(number)):
        raise InvalidRequest("Your card number is incorrect.", "card[number]", "incorrect_number")
    brand = next((name for start, name in reversed(_BRANDS) if number.startswith(start)), "unknown")
    return new_card(brand=brand, last4=number[-4:], fingerprint=_fingerprint(number), **_expiry(world, params))


def _expiry(world: World, params: Params) -> Any:
    """Returns month and year until which a card is good."""
    if "exp_month" not in params or "exp_year" not in params:
        raise InvalidRequest("Missing required param: card[exp_month].", "card[exp_month]", "parameter_missing")
    today = to_datetime(world.clock.now_ms())
    month, year = params["exp_month"], params["exp_year"] + (2000 if params["exp_year"] < 100 else 0)
    if not 1 <= month <= 12:
        raise InvalidRequest("Your card's expiration month is invalid.", "card[exp_month]", "invalid_expiry_month")
    if not (today.year, today.month) <= (year, month) or year > today.year + 50:
        raise InvalidRequest("Your card's expiration year is invalid.", "card[exp_year]", "invalid_expiry_year")
    return {"exp_month": month, "exp_year": year}


def _debit(params: Params) -> SepaDebit:
    iban = params["iban"].replace(" ", "").upper()
    if not (15 <= len(iban) <= 34 and iban.isalnum() and iban[:2].isalpha()):
        raise InvalidRequest("The IBAN you provided is invalid.", "sepa_debit[iban]", "invalid_bank_account_iban")
    return new_sepa_debit(last4=iban[-4:], country=iban[:2], fingerprint=_fingerprint(iban))


def _luhn(number: str) -> bool:
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(number))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _fingerprint(number: str) -> str:
    """Recognises the same card wherever it comes up, without its number."""
    return hashlib.sha256(number.encode()).hexdigest()[:16]


def _merge_details(before: BillingDetails, params: Params) -> BillingDetails:
    changes = pick(params, ("email", "name", "phone"))
    if isinstance(params.get("address"), dict):
        changes["address"] = new_address({**(before["address"] or {}), **params["address"]})
    return {**before, **changes}
