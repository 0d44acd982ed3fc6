"""Charges, payment intents, refunds, payment methods, disputes, events, the balance, the portal and files."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.billing.operations import disputes, methods, payments, portal, records, refunds
from services.billing.operations.listing import Where
from services.billing.routes import uploads
from services.billing.routes.base import EVERYTHING, Plain, found, many, noun_router, one
from services.billing.schemas import shown
from services.billing.schemas.base import Asked, MetadataIn, Searched
from services.billing.schemas.customers import (
    AttachIn,
    PaymentMethodChange,
    PaymentMethodIn,
    PaymentMethodList,
    PortalSessionIn,
)
from services.billing.schemas.payments import (
    BalanceTransactionList,
    CancelIntentIn,
    ChargeChange,
    ChargeList,
    ConfirmIn,
    DisputeChange,
    DisputeList,
    EventList,
    PaymentIntentChange,
    PaymentIntentIn,
    PaymentIntentList,
    RefundIn,
    RefundList,
)
from services.billing.schemas.shown import Found, Page
from services.billing.tables import balance_transactions, charges, events, files, payment_intents, payment_methods
from services.billing.tables import disputes as dispute_rows
from services.billing.tables import refunds as refund_rows
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("payments")


@router.get("/charges", operation_id="billing.charges.list", response_model=Page[shown.Charge])
async def list_charges(asked: Annotated[ChargeList, Query()], world: CurrentWorld) -> Response:
    """List charges, newest first."""
    return many(world, charges, asked, "/v1/charges", EVERYTHING, ("customer", "payment_intent"))


@router.get("/charges/search", operation_id="billing.charges.search", response_model=Found[shown.Charge])
async def search_charges(asked: Annotated[Searched, Query()], world: CurrentWorld) -> Response:
    """Search charges by customer, amount, currency, status, refunded, disputed, last4, created or metadata."""
    return found(world, charges, asked, "/v1/charges/search")


@router.get("/charges/{charge}", operation_id="billing.charges.get", response_model=shown.Charge)
async def read_charge(charge: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one charge."""
    return one(world, records.need(world, charges, charge), asked)


@router.post("/charges/{charge}", operation_id="billing.charges.update", response_model=shown.Charge)
async def update_charge(charge: str, world: CurrentWorld, body: ChargeChange | None = None) -> Response:
    """Change a charge's description, metadata or fraud report."""
    return one(world, payments.update_charge(world, charge, body.given() if body else {}), body)


@router.post("/payment_intents", operation_id="billing.payment_intents.create", response_model=shown.PaymentIntent)
async def create_intent(body: PaymentIntentIn, world: CurrentWorld) -> Response:
    """Create a payment, and with `confirm` make it at once."""
    return one(world, payments.create(world, body.given()), body)


@router.get("/payment_intents", operation_id="billing.payment_intents.list", response_model=Page[shown.PaymentIntent])
async def list_intents(asked: Annotated[PaymentIntentList, Query()], world: CurrentWorld) -> Response:
    """List payment intents, newest first."""
    return many(world, payment_intents, asked, "/v1/payment_intents", EVERYTHING, ("customer",))


@router.get(
    "/payment_intents/search", operation_id="billing.payment_intents.search", response_model=Found[shown.PaymentIntent]
)
async def search_intents(asked: Annotated[Searched, Query()], world: CurrentWorld) -> Response:
    """Search payment intents by customer, amount, currency, status, created or metadata."""
    return found(world, payment_intents, asked, "/v1/payment_intents/search")


@router.get("/payment_intents/{intent}", operation_id="billing.payment_intents.get", response_model=shown.PaymentIntent)
async def read_intent(intent: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one payment intent."""
    return one(world, records.need(world, payment_intents, intent), asked)


@router.post(
    "/payment_intents/{intent}", operation_id="billing.payment_intents.update", response_model=shown.PaymentIntent
)
async def update_intent(intent: str, world: CurrentWorld, body: PaymentIntentChange | None = None) -> Response:
    """Change a payment before it is made."""
    return one(world, payments.update(world, intent, body.given() if body else {}), body)


@router.post(
    "/payment_intents/{intent}/confirm",
    operation_id="billing.payment_intents.confirm",
    response_model=shown.PaymentIntent,
)
async def confirm_intent(intent: str, world: CurrentWorld, body: ConfirmIn | None = None) -> Response:
    """Make a payment now."""
    return one(world, payments.confirm_by_hand(world, intent, body.given() if body else {}), body)


@router.post(
    "/payment_intents/{intent}/cancel",
    operation_id="billing.payment_intents.cancel",
    response_model=shown.PaymentIntent,
)
async def cancel_intent(intent: str, world: CurrentWorld, body: CancelIntentIn | None = None) -> Response:
    """Cancel a payment that was not made."""
    return one(world, payments.cancel(world, intent, body.cancellation_reason if body else None), body)


@router.post("/refunds", operation_id="billing.refunds.create", response_model=shown.Refund)
async def create_refund(world: CurrentWorld, body: RefundIn | None = None) -> Response:
    """Refund a charge, in part or all that is left."""
    return one(world, refunds.create(world, body.given() if body else {}), body)


@router.get("/refunds", operation_id="billing.refunds.list", response_model=Page[shown.Refund])
async def list_refunds(asked: Annotated[RefundList, Query()], world: CurrentWorld) -> Response:
    """List refunds, newest first."""
    return many(world, refund_rows, asked, "/v1/refunds", EVERYTHING, ("charge", "payment_intent"))


@router.get("/refunds/{refund}", operation_id="billing.refunds.get", response_model=shown.Refund)
async def read_refund(refund: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one refund."""
    return one(world, records.need(world, refund_rows, refund), asked)


@router.post("/refunds/{refund}", operation_id="billing.refunds.update", response_model=shown.Refund)
async def update_refund(refund: str, world: CurrentWorld, body: MetadataIn | None = None) -> Response:
    """Change a refund's metadata."""
    return one(world, refunds.update(world, refund, body.given() if body else {}), body)


@router.post("/refunds/{refund}/cancel", operation_id="billing.refunds.cancel", response_model=shown.Refund)
async def cancel_refund(refund: str, world: CurrentWorld, body: Asked | None = None) -> Response:
    """Cancel a refund that still waits for the customer."""
    return one(world, refunds.cancel(world, refund), body)


@router.post("/payment_methods", operation_id="billing.payment_methods.create", response_model=shown.PaymentMethod)
async def create_method(body: PaymentMethodIn, world: CurrentWorld) -> Response:
    """Create a payment method; attach it to use it."""
    return one(world, methods.create(world, body.given()), body)


@router.get("/payment_methods", operation_id="billing.payment_methods.list", response_model=Page[shown.PaymentMethod])
async def list_methods(asked: Annotated[PaymentMethodList, Query()], world: CurrentWorld) -> Response:
    """List a customer's payment methods; without a customer there are none."""
    where = Where(equal={"customer": asked.customer or ""})
    return many(world, payment_methods, asked, "/v1/payment_methods", where, ("type",))


@router.get("/payment_methods/{id}", operation_id="billing.payment_methods.get", response_model=shown.PaymentMethod)
async def read_method(id: str, asked: Plain, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Read one payment method."""
    return one(world, records.need(world, payment_methods, id), asked)


@router.post("/payment_methods/{id}", operation_id="billing.payment_methods.update", response_model=shown.PaymentMethod)
async def update_method(id: str, world: CurrentWorld, body: PaymentMethodChange | None = None) -> Response:  # noqa: A002 - the vendor's name
    """Change when a card expires, billing details or metadata."""
    return one(world, methods.update(world, id, body.given() if body else {}), body)


@router.post(
    "/payment_methods/{id}/attach",
    operation_id="billing.payment_methods.attach",
    response_model=shown.PaymentMethod,
)
async def attach_method(id: str, body: AttachIn, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Attach a payment method to a customer; that does not make it the default."""
    return one(world, methods.attach(world, id, body.customer), body)


@router.post(
    "/payment_methods/{id}/detach",
    operation_id="billing.payment_methods.detach",
    response_model=shown.PaymentMethod,
)
async def detach_method(id: str, world: CurrentWorld, body: Asked | None = None) -> Response:  # noqa: A002 - the vendor's name
    """Detach a payment method for good."""
    return one(world, methods.detach(world, id), body)


@router.get("/disputes", operation_id="billing.disputes.list", response_model=Page[shown.Dispute])
async def list_disputes(asked: Annotated[DisputeList, Query()], world: CurrentWorld) -> Response:
    """List disputes, newest first."""
    return many(world, dispute_rows, asked, "/v1/disputes", EVERYTHING, ("charge", "payment_intent"))


@router.get("/disputes/{dispute}", operation_id="billing.disputes.get", response_model=shown.Dispute)
async def read_dispute(dispute: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one dispute."""
    return one(world, records.need(world, dispute_rows, dispute), asked)


@router.post("/disputes/{dispute}", operation_id="billing.disputes.update", response_model=shown.Dispute)
async def update_dispute(dispute: str, world: CurrentWorld, body: DisputeChange | None = None) -> Response:
    """Submit evidence, or stage it with `submit=false`."""
    return one(world, disputes.update(world, dispute, body.given() if body else {}), body)


@router.post("/disputes/{dispute}/close", operation_id="billing.disputes.close", response_model=shown.Dispute)
async def close_dispute(dispute: str, world: CurrentWorld, body: Asked | None = None) -> Response:
    """Give in: the dispute is lost."""
    return one(world, disputes.close(world, dispute), body)


@router.get("/events", operation_id="billing.events.list", response_model=Page[shown.Event])
async def list_events(asked: Annotated[EventList, Query()], world: CurrentWorld) -> Response:
    """List what happened, newest first; a type may hold a `*`."""
    return many(world, events, asked, "/v1/events", _types(asked))


def _types(asked: EventList) -> Where:
    if asked.types:
        return Where(among={"type": asked.types})
    if asked.type is None:
        return EVERYTHING
    return Where(like={"type": asked.type}) if "*" in asked.type else Where(equal={"type": asked.type})


@router.get("/events/{id}", operation_id="billing.events.get", response_model=shown.Event)
async def read_event(id: str, asked: Plain, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Read one event."""
    return one(world, records.need(world, events, id), asked)


@router.get(
    "/balance_transactions",
    operation_id="billing.balance_transactions.list",
    response_model=Page[shown.BalanceTransaction],
)
async def list_transactions(asked: Annotated[BalanceTransactionList, Query()], world: CurrentWorld) -> Response:
    """List what moved the account's balance, newest first."""
    return many(
        world, balance_transactions, asked, "/v1/balance_transactions", EVERYTHING, ("currency", "source", "type")
    )


@router.get(
    "/balance_transactions/{id}",
    operation_id="billing.balance_transactions.get",
    response_model=shown.BalanceTransaction,
)
async def read_transaction(id: str, asked: Plain, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Read one line of the account's balance."""
    return one(world, records.need(world, balance_transactions, id), asked)


@router.post(
    "/billing_portal/sessions",
    operation_id="billing.billing_portal.create_session",
    response_model=shown.PortalSession,
)
async def create_session(body: PortalSessionIn, world: CurrentWorld) -> Response:
    """Create a link under which a customer manages billing."""
    return one(world, portal.open_session(world, body.given()), body)


@router.post(
    "/files",
    operation_id="billing.files.create",
    response_model=shown.File,
    openapi_extra={"requestBody": uploads.DESCRIBED},
)
async def create_file(request: Request, world: CurrentWorld) -> Response:
    """Upload a file, such as evidence for a dispute."""
    sent = await uploads.received(request)
    return Json(records.public(portal.keep_file(world, sent.purpose, sent.name, sent.kind, sent.size)))


@router.get("/files/{file}", operation_id="billing.files.get", response_model=shown.File)
async def read_file(file: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read what is known of an uploaded file."""
    return one(world, records.need(world, files, file), asked)
