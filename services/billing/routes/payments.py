"""Charges, payment intents, refunds, payment methods, disputes, events, the balance, the portal and files."""

import re

from fastapi import Request

from services.billing.objects.customers import PaymentMethodBody
from services.billing.objects.events import FileBody
from services.billing.operations import charges, disputes, payment_intents, payment_methods, portal, refunds
from services.billing.operations.params import Params
from services.billing.routes import endpoints as serve
from services.billing.routes import uploads
from services.billing.routes.endpoints import register
from services.billing.rows import PaymentMethodId
from services.billing.schemas import payments as schemas
from services.billing.schemas.base import MetadataIn
from services.billing.schemas.customers import (
    AttachIn,
    PaymentMethodChange,
    PaymentMethodIn,
    PaymentMethodList,
    PortalSessionIn,
)
from services.billing.schemas.responses import (
    BalanceTransaction,
    Charge,
    Dispute,
    Event,
    File,
    PaymentIntent,
    PaymentMethod,
    PortalSession,
    Refund,
    make_search_page,
    page_of,
)
from services.billing.tables import balance_transactions, events, files
from services.billing.tables import charges as charge_rows
from services.billing.tables import disputes as dispute_rows
from services.billing.tables import payment_intents as intent_rows
from services.billing.tables import payment_methods as method_rows
from services.billing.tables import refunds as refund_rows
from services.kernel.documents import EVERYTHING, Where, among, equal
from services.kernel.operations import Operation
from services.kernel.world import World


def _of_customer(_: World, query: PaymentMethodList) -> Where:
    return equal(customer=query.customer or "")


def _attach(world: World, key: PaymentMethodId, params: Params) -> PaymentMethodBody:
    return payment_methods.attach(world, key, params["customer"])


def _of_type(_: World, query: schemas.EventList) -> Where:
    if query.types:
        return among("type", query.types)
    if query.type is None:
        return EVERYTHING
    if "*" in query.type:
        # Of the signs of a GLOB only the * is the vendor's too.
        return Where("type GLOB :type_pattern", {"type_pattern": re.sub(r"[?\[]", "", query.type)})
    return equal(type=query.type)


async def _create_file(world: World, request: Request) -> FileBody:
    return portal.create_file(world, await uploads.read_upload(request))


# fmt: off
_OPERATIONS = (
    Operation("billing.charges.list", "GET", "/v1/charges", "List Charges", page_of(Charge),
              serve.list_rows(schemas.ChargeList, charge_rows, ("customer", "payment_intent")),
              "List charges, newest first."),
    Operation("billing.charges.search", "GET", "/v1/charges/search", "Search Charges", make_search_page(Charge),
              serve.search(charge_rows),
              "Search charges by customer, amount, currency, status, refunded, disputed, last4, created or metadata."),
    Operation("billing.charges.get", "GET", "/v1/charges/{charge}", "Read Charge", Charge, serve.read_row(charge_rows),
              "Read one charge."),
    Operation("billing.charges.update", "POST", "/v1/charges/{charge}", "Update Charge", Charge,
              serve.post_optional(schemas.ChargeChange, charges.update),
              "Change a charge's description, metadata or fraud report."),
    Operation("billing.payment_intents.create", "POST", "/v1/payment_intents", "Create Intent", PaymentIntent,
              serve.post(schemas.PaymentIntentIn, payment_intents.create),
              "Create a payment, and with `confirm` make it at once."),
    Operation("billing.payment_intents.list", "GET", "/v1/payment_intents", "List Intents", page_of(PaymentIntent),
              serve.list_rows(schemas.PaymentIntentList, intent_rows, ("customer",)),
              "List payment intents, newest first."),
    Operation("billing.payment_intents.search", "GET", "/v1/payment_intents/search", "Search Intents",
              make_search_page(PaymentIntent), serve.search(intent_rows),
              "Search payment intents by customer, amount, currency, status, created or metadata."),
    Operation("billing.payment_intents.get", "GET", "/v1/payment_intents/{intent}", "Read Intent", PaymentIntent,
              serve.read_row(intent_rows), "Read one payment intent."),
    Operation("billing.payment_intents.update", "POST", "/v1/payment_intents/{intent}", "Update Intent", PaymentIntent,
              serve.post_optional(schemas.PaymentIntentChange, payment_intents.update),
              "Change a payment before it is made."),
    Operation("billing.payment_intents.confirm", "POST", "/v1/payment_intents/{intent}/confirm", "Confirm Intent",
              PaymentIntent, serve.post_optional(schemas.ConfirmIn, payment_intents.confirm), "Make a payment now."),
    Operation("billing.payment_intents.cancel", "POST", "/v1/payment_intents/{intent}/cancel", "Cancel Intent",
              PaymentIntent, serve.post_optional(schemas.CancelIntentIn, payment_intents.cancel),
              "Cancel a payment that was not made."),
    Operation("billing.refunds.create", "POST", "/v1/refunds", "Create Refund", Refund,
              serve.post_optional(schemas.RefundIn, refunds.create), "Refund a charge, in part or all that is left."),
    Operation("billing.refunds.list", "GET", "/v1/refunds", "List Refunds", page_of(Refund),
              serve.list_rows(schemas.RefundList, refund_rows, ("charge", "payment_intent")),
              "List refunds, newest first."),
    Operation("billing.refunds.get", "GET", "/v1/refunds/{refund}", "Read Refund", Refund, serve.read_row(refund_rows),
              "Read one refund."),
    Operation("billing.refunds.update", "POST", "/v1/refunds/{refund}", "Update Refund", Refund,
              serve.post_optional(MetadataIn, refunds.update), "Change a refund's metadata."),
    Operation("billing.refunds.cancel", "POST", "/v1/refunds/{refund}/cancel", "Cancel Refund", Refund,
              serve.act(refunds.cancel), "Cancel a refund that still waits for the customer."),
    Operation("billing.payment_methods.create", "POST", "/v1/payment_methods", "Create Method", PaymentMethod,
              serve.post(PaymentMethodIn, payment_methods.create), "Create a payment method; attach it to use it."),
    Operation("billing.payment_methods.list", "GET", "/v1/payment_methods", "List Methods", page_of(PaymentMethod),
              serve.list_rows(PaymentMethodList, method_rows, ("type",), _of_customer),
              "List a customer's payment methods; without a customer there are none."),
    Operation("billing.payment_methods.get", "GET", "/v1/payment_methods/{id}", "Read Method", PaymentMethod,
              serve.read_row(method_rows), "Read one payment method."),
    Operation("billing.payment_methods.update", "POST", "/v1/payment_methods/{id}", "Update Method", PaymentMethod,
              serve.post_optional(PaymentMethodChange, payment_methods.update),
              "Change when a card expires, billing details or metadata."),
    Operation("billing.payment_methods.attach", "POST", "/v1/payment_methods/{id}/attach", "Attach Method",
              PaymentMethod, serve.post(AttachIn, _attach),
              "Attach a payment method to a customer; that does not make it the default."),
    Operation("billing.payment_methods.detach", "POST", "/v1/payment_methods/{id}/detach", "Detach Method",
              PaymentMethod, serve.act(payment_methods.detach), "Detach a payment method for good."),
    Operation("billing.disputes.list", "GET", "/v1/disputes", "List Disputes", page_of(Dispute),
              serve.list_rows(schemas.DisputeList, dispute_rows, ("charge", "payment_intent")),
              "List disputes, newest first."),
    Operation("billing.disputes.get", "GET", "/v1/disputes/{dispute}", "Read Dispute", Dispute,
              serve.read_row(dispute_rows), "Read one dispute."),
    Operation("billing.disputes.update", "POST", "/v1/disputes/{dispute}", "Update Dispute", Dispute,
              serve.post_optional(schemas.DisputeChange, disputes.update),
              "Submit evidence, or stage it with `submit=false`."),
    Operation("billing.disputes.close", "POST", "/v1/disputes/{dispute}/close", "Close Dispute", Dispute,
              serve.act(disputes.close), "Give in: the dispute is lost."),
    Operation("billing.events.list", "GET", "/v1/events", "List Events", page_of(Event),
              serve.list_rows(schemas.EventList, events, where=_of_type),
              "List what happened, newest first; a type may hold a `*`."),
    Operation("billing.events.get", "GET", "/v1/events/{id}", "Read Event", Event, serve.read_row(events),
              "Read one event."),
    Operation("billing.balance_transactions.list", "GET", "/v1/balance_transactions", "List Transactions",
              page_of(BalanceTransaction),
              serve.list_rows(schemas.BalanceTransactionList, balance_transactions, ("currency", "source", "type")),
              "List what moved the account's balance, newest first."),
    Operation("billing.balance_transactions.get", "GET", "/v1/balance_transactions/{id}", "Read Transaction",
              BalanceTransaction, serve.read_row(balance_transactions), "Read one line of the account's balance."),
    Operation("billing.billing_portal.create_session", "POST", "/v1/billing_portal/sessions", "Create Session",
              PortalSession, serve.post(PortalSessionIn, portal.create_session),
              "Create a link under which a customer manages billing."),
    Operation("billing.files.create", "POST", "/v1/files", "Create File", File, serve.with_request(_create_file),
              "Upload a file, such as evidence for a dispute.", openapi_extra={"requestBody": uploads.REQUEST_BODY}),
    Operation("billing.files.get", "GET", "/v1/files/{file}", "Read File", File, serve.read_row(files),
              "Read what is known of an uploaded file."),
)
# fmt: on

router = register("payments", _OPERATIONS)
