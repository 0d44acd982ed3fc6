"""Payment intents, as clients create, change, confirm and cancel them."""

from services.billing.errors import InvalidRequest
from services.billing.objects.customers import PaymentMethodBody
from services.billing.objects.payments import PaymentIntentBody
from services.billing.operations import charges, customers, invoices, records
from services.billing.operations.params import Params, pick_changes
from services.billing.operations.payment_methods import from_ready_made
from services.billing.operations.products import require_currency
from services.billing.rows import PaymentIntentId, PaymentMethodId
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import payment_intents, payment_methods
from services.kernel.world import World

_SMALLEST = 50


def create(world: World, params: Params) -> PaymentIntentBody:
    require_currency(params["currency"])
    if params["amount"] <= 0:
        raise InvalidRequest("This value must be greater than or equal to 1.", "amount", "parameter_invalid_integer")
    if params["currency"] in ("usd", "eur", "gbp") and params["amount"] < _SMALLEST:
        raise InvalidRequest("Amount must be at least 50 cents.", "amount", "amount_too_small")
    customer = params.get("customer")
    if customer is not None:
        records.refer(world, customer_rows, customer, "customer")
    intent = charges.open_intent(world, params["amount"], params["currency"], customer, params.get("description"))
    changes = _changes(intent, params)
    if method := params.get("payment_method"):
        method = from_ready_made(world, method)
        _usable_method(world, intent, method)
        changes |= {"payment_method": method, "status": "requires_confirmation"}
    intent = records.change(world, payment_intents, intent, changes)
    return _confirm(world, intent, None) if params.get("confirm") else intent


def update(world: World, key: PaymentIntentId, params: Params) -> PaymentIntentBody:
    intent = records.need(world, payment_intents, key)
    changes = _changes(intent, params)
    if set(params) - {"metadata", "description", "receipt_email"}:
        _require_open(intent, "update")
    if params.get("amount") is not None:
        _require_no_invoice(intent, "amount")
        changes["amount"] = params["amount"]
    if method := params.get("payment_method"):
        method = from_ready_made(world, method)
        _usable_method(world, intent, method)
        changes |= {"payment_method": method, "status": "requires_confirmation"}
    return records.change(world, payment_intents, intent, changes)


def confirm(world: World, key: PaymentIntentId, params: Params) -> PaymentIntentBody:
    return _confirm(world, records.need(world, payment_intents, key), params.get("payment_method"))


def cancel(world: World, key: PaymentIntentId, params: Params) -> PaymentIntentBody:
    intent = records.need(world, payment_intents, key)
    _require_open(intent, "cancel")
    _require_no_invoice(intent, "intent")
    return charges.cancel_intent(world, intent, params.get("cancellation_reason"))


def _confirm(world: World, intent: PaymentIntentBody, requested: PaymentMethodId | None) -> PaymentIntentBody:
    _require_open(intent, "confirm")
    key = intent["payment_method"] if requested is None else from_ready_made(world, requested)
    if key is None:
        raise InvalidRequest(
            "You cannot confirm this PaymentIntent because it's missing a payment method.",
            "payment_method",
            "payment_intent_unexpected_state",
        )
    method = _usable_method(world, intent, key)
    if intent["_invoice"] is not None:
        # The invoice books the money that is paid for it.
        attempt = invoices.attempt_payment(world, records.must_exist(world, invoice_rows, intent["_invoice"]), method)
        if attempt.decline is not None:
            raise attempt.decline
        return records.must_exist(world, payment_intents, intent["id"])
    result = charges.charge_intent(world, intent, method)
    if result.decline is not None:
        raise result.decline
    return result.intent


def _changes(intent: PaymentIntentBody, params: Params) -> PaymentIntentBody:
    changes: PaymentIntentBody = pick_changes(
        intent, params, ("description", "receipt_email", "statement_descriptor", "setup_future_usage")
    )
    return changes


def _usable_method(world: World, intent: PaymentIntentBody, key: PaymentMethodId) -> PaymentMethodBody:
    method = records.refer(world, payment_methods, key, "payment_method")
    if method["customer"] is not None and method["customer"] != intent["customer"]:
        raise InvalidRequest(
            "The provided PaymentMethod belongs to a customer other than the one of this PaymentIntent.",
            "payment_method",
        )
    return customers.own_method(world, intent["customer"], key, "payment_method") if method["customer"] else method


def _require_open(intent: PaymentIntentBody, verb: str) -> None:
    if intent["status"] not in charges.OPEN_STATUSES:
        raise InvalidRequest(
            f"You cannot {verb} this PaymentIntent because it has a status of {intent['status']}.",
            None,
            "payment_intent_unexpected_state",
        )


def _require_no_invoice(intent: PaymentIntentBody, param: str) -> None:
    if intent["_invoice"] is not None:
        raise InvalidRequest(
            "This PaymentIntent belongs to an invoice; change or void the invoice instead.",
            param,
            "payment_intent_unexpected_state",
        )
