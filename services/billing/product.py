"""Declares billing to the kernel."""

from collections.abc import Mapping

from services.billing.checks import checks
from services.billing.errors import render, request_id_of
from services.billing.judging import judging
from services.billing.news import tell_news
from services.billing.operations import test_mode
from services.billing.operations.due import advance
from services.billing.operations.records import API_VERSION
from services.billing.parameter_texts import PARAMETER_TEXTS
from services.billing.routes import router
from services.billing.tables import schema
from services.kernel.answers import Answer
from services.kernel.credentials import basic_username, bearer
from services.kernel.encoding import BRACKETS
from services.kernel.product import BenchCall, IdempotentAnswer, Product
from services.kernel.sizes import MIB
from services.kernel.world import World

_CUSTOMERS = "SELECT id FROM customers WHERE deleted IS NULL"
_PAID = "SELECT id FROM charges WHERE status = 'succeeded' AND refunded = 0 AND disputed = 0"
_PAYING = "SELECT DISTINCT customer FROM invoices WHERE status = 'paid'"


def answer_headers(world: World) -> Mapping[str, str]:
    return {"Request-Id": request_id_of(world.clock.now_ms()), "Stripe-Version": API_VERSION}


def key_answer_headers(answer: IdempotentAnswer) -> Mapping[str, str]:
    headers = {"Idempotency-Key": answer.key}
    if answer.replayed:
        first = next((value.decode() for name, value in answer.first.headers if name == b"request-id"), "")
        headers |= {"Idempotent-Replayed": "true", "Original-Request": first}
    return headers


def keeps_answer(answer: Answer) -> bool:
    """A request that was refused before anything was tried may be sent again under the same key."""
    return answer.status < 400 or answer.status == 402


# What people who work with it use every day; README.md lists it.
_CORE_OPERATIONS = (
    "billing.charges.get",
    "billing.charges.list",
    "billing.charges.search",
    "billing.coupons.list",
    "billing.credit_notes.create",
    "billing.customers.create_balance_transaction",
    "billing.customers.create_tax_id",
    "billing.customers.get",
    "billing.customers.list",
    "billing.customers.list_payment_methods",
    "billing.customers.search",
    "billing.customers.update",
    "billing.invoice_items.create",
    "billing.invoices.create",
    "billing.invoices.create_preview",
    "billing.invoices.finalize",
    "billing.invoices.get",
    "billing.invoices.list",
    "billing.invoices.pay",
    "billing.invoices.search",
    "billing.invoices.send",
    "billing.invoices.void",
    "billing.payment_intents.get",
    "billing.prices.list",
    "billing.refunds.create",
    "billing.refunds.list",
    "billing.subscriptions.cancel",
    "billing.subscriptions.get",
    "billing.subscriptions.list",
    "billing.subscriptions.update",
)
# What these operations take beside it; a model finds it when it looks an operation up.
_RARE_PARAMETERS = frozenset(
    (
        "automatic_tax",
        "balance",
        "created.gt",
        "created.lt",
        "currency",
        "default_source",
        "discountable",
        "discounts.discount",
        "due_date",
        "effective_at",
        "email_type",
        "ending_before",
        "expand",
        "footer",
        "invoice_prefix",
        "invoice_settings.footer",
        "issuer",
        "items.metadata",
        "lookup_keys",
        "next_invoice_sequence",
        "off_session",
        "out_of_band_amount",
        "payment_behavior",
        "pending_invoice_items_behavior",
        "preferred_locales",
        "recurring",
        "refunds",
        "shipping",
        "source",
        "statement_descriptor",
        "subscription_details.items.metadata",
        "tax_behavior",
        "transfer_lookup_key",
        "trial_end",
        "types",
    )
)

product = Product(
    name="billing",
    title="Billing API",
    version=API_VERSION,
    port=8703,
    public_url="https://api.stripe.com",
    schema=schema,
    router=router,
    render=render,
    checks=checks,
    core_operations=_CORE_OPERATIONS,
    rare_parameters=_RARE_PARAMETERS,
    parameter_texts=PARAMETER_TEXTS,
    judging=judging,
    create_credential=lambda secret: f"sk_live_{secret}",
    key_shapes=("sk_test_{}",),
    on_playground=test_mode.turn_on,
    credential_formats=(bearer, basic_username),
    advance=advance,
    news=tell_news,
    headers=answer_headers,
    key_answer_headers=key_answer_headers,
    keeps_answer=keeps_answer,
    encoding=BRACKETS,
    body_limit=6 * MIB,
    sdk="stripe",
    snippet="curl -s -u {token}: {base}/v1/customers\n"
    'python -c \'import stripe; stripe.api_base = "{base}"; stripe.api_key = "{token}"; '
    "print(stripe.Customer.list(limit=3))'",
    bench={
        "customer by id": BenchCall("GET", "/v1/customers/{id}", ids=_CUSTOMERS, bar=3.0),
        "a customer's invoices": BenchCall("GET", "/v1/invoices?customer={id}&limit=10", ids=_PAYING, bar=12.0),
        "list of 25 charges": BenchCall("GET", "/v1/charges?limit=25", bar=12.0),
        "update a customer": BenchCall(
            "POST", "/v1/customers/{id}", {"metadata": {"ticket": "{n}"}}, _CUSTOMERS, bar=8.0
        ),
        "refund a little": BenchCall("POST", "/v1/refunds", {"charge": "{id}", "amount": "1"}, _PAID, bar=14.0),
    },
)
