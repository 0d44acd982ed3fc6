"""Customers, their tax ids and balance, and how they pay."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from services.billing.objects.catalogue import DiscountBody
from services.billing.rows import BalanceEntryId, CreditNoteId, CustomerId, InvoiceId, PaymentMethodId, TaxIdId
from services.kernel.documents import with_nulls

Metadata = dict[str, str]
PaymentMethodType = Literal["card", "sepa_debit", "customer_balance"]
TaxExempt = Literal["none", "exempt", "reverse"]

ADDRESS_FIELDS = ("city", "country", "line1", "line2", "postal_code", "state")
TAX_ID_COUNTRIES = {"gb_vat": "GB", "us_ein": "US", "ch_vat": "CH", "no_vat": "NO", "au_abn": "AU", "sg_gst": "SG"}


class Address(TypedDict):
    """A postal address."""

    city: str | None
    country: str | None
    line1: str | None
    line2: str | None
    postal_code: str | None
    state: str | None


class Shipping(TypedDict):
    """Where to send things."""

    address: Address | None
    name: str
    phone: str | None


class CustomerInvoiceSettings(TypedDict):
    """How a customer is billed."""

    custom_fields: None
    default_payment_method: PaymentMethodId | None
    footer: str | None
    rendering_options: None


class CustomerBody(TypedDict, total=False):
    """A customer; a deleted one keeps its row."""

    object: Literal["customer"]
    address: Address | None
    balance: int
    created: int
    currency: str | None
    default_source: None
    delinquent: bool
    description: str | None
    discount: DiscountBody | None
    email: str | None
    invoice_prefix: str
    invoice_settings: CustomerInvoiceSettings
    livemode: bool
    metadata: Metadata
    name: str | None
    next_invoice_sequence: int
    phone: str | None
    preferred_locales: list[str]
    shipping: Shipping | None
    tax_exempt: TaxExempt
    test_clock: None
    id: CustomerId
    deleted: bool


class TaxIdOwner(TypedDict):
    """Whose tax id it is."""

    customer: CustomerId
    type: Literal["customer"]


class TaxIdVerification(TypedDict):
    """What a registry said of a tax id."""

    status: str
    verified_address: None
    verified_name: None


class TaxIdBody(TypedDict, total=False):
    """A customer's tax id."""

    object: Literal["tax_id"]
    country: str
    created: int
    customer: CustomerId
    customer_account: None
    livemode: bool
    owner: TaxIdOwner
    type: str
    value: str
    verification: TaxIdVerification
    id: TaxIdId


class BalanceEntryBody(TypedDict, total=False):
    """A line on a customer's balance."""

    object: Literal["customer_balance_transaction"]
    amount: int
    checkout_session: None
    created: int
    credit_note: CreditNoteId | None
    currency: str
    customer: CustomerId
    customer_account: None
    description: str | None
    ending_balance: int
    invoice: InvoiceId | None
    livemode: bool
    metadata: Metadata
    type: str
    id: BalanceEntryId


class CardChecks(TypedDict):
    """What the bank compared."""

    address_line1_check: None
    address_postal_code_check: None
    cvc_check: str


class CardNetworks(TypedDict):
    """The networks that a card runs on."""

    available: list[str]
    preferred: None


class Card(TypedDict):
    """A card, without its number."""

    brand: str
    checks: CardChecks
    country: str
    display_brand: str
    exp_month: int
    exp_year: int
    fingerprint: str
    funding: str
    generated_from: None
    last4: str
    networks: CardNetworks
    regulated_status: str
    three_d_secure_usage: dict[str, bool]
    wallet: None


class SepaDebit(TypedDict):
    """A bank account that can be debited."""

    bank_code: None
    branch_code: None
    country: str
    fingerprint: str
    generated_from: dict[str, None]
    last4: str


class BillingDetails(TypedDict):
    """Whose card or account it is."""

    address: Address | None
    email: str | None
    name: str | None
    phone: str | None
    tax_id: None


class PaymentMethodBody(TypedDict, total=False):
    """A card, a bank account, or transfers to us; only the field of its type is there."""

    object: Literal["payment_method"]
    allow_redisplay: str
    billing_details: BillingDetails
    card: Card
    sepa_debit: SepaDebit
    customer_balance: dict[str, Any]
    created: int
    customer: CustomerId | None
    customer_account: None
    livemode: bool
    metadata: Metadata
    type: PaymentMethodType
    # The bank's refusal when it is asked for money; None where it pays.
    _refuses_with: str | None
    # Whether it was detached, and may never be attached again.
    _detached: bool
    id: PaymentMethodId


def new_customer(*, created: int, currency: str | None = None, prefix: str) -> CustomerBody:
    body: CustomerBody = {
        "object": "customer",
        "balance": 0,
        "created": created,
        "currency": currency,
        "delinquent": False,
        "invoice_prefix": prefix,
        "invoice_settings": {
            "custom_fields": None,
            "default_payment_method": None,
            "footer": None,
            "rendering_options": None,
        },
        "livemode": True,
        "metadata": {},
        "next_invoice_sequence": 1,
        "preferred_locales": [],
        "tax_exempt": "none",
    }
    return with_nulls(CustomerBody, body)


def new_address(fields: Mapping[str, Any]) -> Address:
    """Returns an address with all of its fields; an empty text counts as unset."""
    address: Any = {name: fields.get(name) or None for name in ADDRESS_FIELDS}
    complete: Address = address
    return complete


def new_tax_id(*, created: int, customer: CustomerId, kind: str, value: str) -> TaxIdBody:
    return {
        "object": "tax_id",
        "country": value[:2].upper() if kind == "eu_vat" else TAX_ID_COUNTRIES.get(kind, kind[:2].upper()),
        "created": created,
        "customer": customer,
        "customer_account": None,
        "livemode": True,
        "owner": {"customer": customer, "type": "customer"},
        "type": kind,
        "value": value,
        "verification": {"status": "pending", "verified_address": None, "verified_name": None},
    }


def new_balance_entry(
    *, created: int, customer: CustomerId, amount: int, ending: int, currency: str, kind: str, **about: Any
) -> BalanceEntryBody:
    return {
        "object": "customer_balance_transaction",
        "amount": amount,
        "checkout_session": None,
        "created": created,
        "credit_note": about.get("credit_note"),
        "currency": currency,
        "customer": customer,
        "customer_account": None,
        "description": about.get("description"),
        "ending_balance": ending,
        "invoice": about.get("invoice"),
        "livemode": True,
        "metadata": about.get("metadata") or {},
        "type": kind,
    }


def new_card(*, brand: str, last4: str, exp_month: int, exp_year: int, fingerprint: str, country: str = "IE") -> Card:
    return {
        "brand": brand,
        "checks": {"address_line1_check": None, "address_postal_code_check": None, "cvc_check": "pass"},
        "country": country,
        "display_brand": brand,
        "exp_month": exp_month,
        "exp_year": exp_year,
        "fingerprint": fingerprint,
        "funding": "credit",
        "generated_from": None,
        "last4": last4,
        "networks": {"available": [brand], "preferred": None},
        "regulated_status": "unregulated",
        "three_d_secure_usage": {"supported": True},
        "wallet": None,
    }


def new_sepa_debit(*, last4: str, country: str, fingerprint: str) -> SepaDebit:
    return {
        "bank_code": None,
        "branch_code": None,
        "country": country,
        "fingerprint": fingerprint,
        "generated_from": {"charge": None, "setup_attempt": None},
        "last4": last4,
    }


def new_payment_method(
    *, created: int, kind: PaymentMethodType, details: Mapping[str, Any], customer: CustomerId | None = None
) -> PaymentMethodBody:
    """`details` are the card or the bank account; they stand under the name of their type."""
    method: Any = {
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": {"address": new_address({}), "email": None, "name": None, "phone": None, "tax_id": None},
        kind: details,
        "created": created,
        "customer": customer,
        "customer_account": None,
        "livemode": True,
        "metadata": {},
        "type": kind,
        "_refuses_with": None,
    }
    body: PaymentMethodBody = method
    return body
