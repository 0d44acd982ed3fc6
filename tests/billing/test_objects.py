"""New objects have the fields that their types list, in the vendor's order; mypy knows the types, tests the order."""

from collections.abc import Mapping
from typing import Any, get_type_hints

import pytest

from services.billing.objects import (
    catalogue,
    credit_notes,
    customers,
    invoice_lines,
    invoices,
    payments,
    subscriptions,
)
from services.billing.operations.accounts import DEFAULTS
from services.billing.rows import (
    CouponId,
    CustomerId,
    InvoiceId,
    PaymentIntentId,
    PaymentMethodId,
    PriceId,
    ProductId,
    SubscriptionId,
)

# Fields that an object gets later: an id when it is added, the others when something happens to it.
LATER = frozenset({"id", "deleted", "_detached", "_ended", "_sent", "_credit_note", "failure_balance_transaction"})
CUSTOMER = customers.new_customer(created=1, prefix="ABC") | {"id": CustomerId("cus_1")}
RECURRING = catalogue.new_recurring("month")
PRICE = catalogue.new_price(
    created=1, product=ProductId("prod_1"), currency="eur", unit_amount=5, recurring=RECURRING
) | {"id": PriceId("price_1")}
METHOD = customers.new_payment_method(
    created=1,
    kind="card",
    details=customers.new_card(brand="visa", last4="1", exp_month=1, exp_year=2030, fingerprint="f"),
) | {"id": PaymentMethodId("pm_1")}
INTENT = payments.new_payment_intent(created=1, amount=5, currency="eur", customer=CUSTOMER["id"]) | {
    "id": PaymentIntentId("pi_1")
}
CHARGE = payments.new_charge(created=1, intent=INTENT, method=METHOD)
INVOICE = invoices.new_invoice(created=1, customer=CUSTOMER, currency="eur", reason="manual", account=DEFAULTS) | {
    "id": InvoiceId("in_1")
}
SUBSCRIPTION, KEY = SubscriptionId("sub_1"), CUSTOMER["id"]
NEW_OBJECTS: tuple[tuple[type[Any], Mapping[str, Any]], ...] = (
    (customers.CustomerBody, CUSTOMER),
    (customers.TaxIdBody, customers.new_tax_id(created=1, customer=KEY, kind="eu_vat", value="PT1")),
    (
        customers.BalanceEntryBody,
        customers.new_balance_entry(created=1, customer=KEY, amount=1, ending=1, currency="eur", kind="adjustment"),
    ),
    (catalogue.ProductBody, catalogue.new_product(created=1, name="x")),
    (catalogue.PriceBody, PRICE),
    (catalogue.CouponBody, catalogue.new_coupon(created=1, duration="once")),
    (catalogue.PromotionCodeBody, catalogue.new_promotion_code(created=1, code="x", coupon=CouponId("c"))),
    (catalogue.DiscountBody, catalogue.new_discount(start=1, end=None, coupon=CouponId("c"), customer=KEY)),
    (
        subscriptions.SubscriptionBody,
        subscriptions.new_subscription(created=1, customer=KEY, currency="eur", start=1, end=2),
    ),
    (
        subscriptions.SubscriptionItemBody,
        subscriptions.new_subscription_item(created=1, subscription=SUBSCRIPTION, price=PRICE, quantity=1),
    ),
    (
        subscriptions.ScheduleBody,
        subscriptions.new_schedule(created=1, customer=KEY, subscription=SUBSCRIPTION, phases=[]),
    ),
    (invoices.InvoiceBody, INVOICE),
    (
        invoice_lines.InvoiceLineBody,
        invoice_lines.new_invoice_line(
            created=1, invoice=INVOICE["id"], amount=1, currency="eur", description=None, period={"start": 1, "end": 2}
        ),
    ),
    (
        invoice_lines.InvoiceItemBody,
        invoice_lines.new_invoice_item(date=1, customer=KEY, amount=1, currency="eur", description=None),
    ),
    (
        invoices.InvoicePaymentBody,
        invoices.new_invoice_payment(created=1, invoice=INVOICE["id"], intent=INTENT["id"], amount=1, currency="eur"),
    ),
    (credit_notes.CreditNoteBody, credit_notes.new_credit_note(created=1, invoice=INVOICE, number="1")),
    (
        credit_notes.CreditNoteLineBody,
        credit_notes.new_credit_note_line(created=1, amount=1, description=None, kind="custom_line_item"),
    ),
    (payments.PaymentIntentBody, INTENT),
    (payments.ChargeBody, CHARGE),
    (payments.RefundBody, payments.new_refund(created=1, charge=CHARGE | {"id": payments.ChargeId("ch_1")}, amount=1)),
    (
        payments.DisputeBody,
        payments.new_dispute(
            created=1, charge=CHARGE | {"id": payments.ChargeId("ch_1")}, reason="x", outcome="lost", due_by=2
        ),
    ),
    (
        payments.BalanceTransactionBody,
        payments.new_balance_transaction(created=1, amount=1, currency="eur", kind="charge", source="ch_1"),
    ),
)


@pytest.mark.parametrize(("body", "made"), NEW_OBJECTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_new_object_has_the_fields_of_its_type_in_their_order(body: type[Any], made: Mapping[str, Any]) -> None:
    assert [name for name in made if name not in LATER] == [name for name in get_type_hints(body) if name not in LATER]


def test_a_payment_method_holds_only_the_details_of_its_type() -> None:
    absent = {"sepa_debit", "customer_balance"}

    assert [name for name in METHOD if name not in LATER] == [
        name for name in get_type_hints(customers.PaymentMethodBody) if name not in LATER | absent
    ]
