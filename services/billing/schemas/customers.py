"""Customers, tax ids, balance, payment methods."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from services.billing.objects.customers import TaxExempt
from services.billing.schemas.base import (
    AddressIn,
    Blank,
    Currency,
    Key,
    Keys,
    ListParams,
    Metadata,
    MetadataChange,
    MetadataIn,
    Minor,
    Name,
    Parameters,
    RequestParams,
    Text,
    TimedListParams,
)

TaxIdType = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}_[a-z_]{2,20}$")]


class TaxIdIn(Parameters):
    """A tax id."""

    type: TaxIdType
    value: Annotated[str, StringConstraints(min_length=1, max_length=60)]


class InvoiceSettingsIn(Parameters):
    """How this customer is billed."""

    default_payment_method: Key | Blank | None = None
    footer: Text | None = None


class ShippingIn(Parameters):
    """Where to send things."""

    name: Name
    address: AddressIn
    phone: Text | None = None


class CustomerChange(RequestParams):
    """What of a customer can change; an empty text unsets a field."""

    name: Name | None = None
    email: Annotated[str, StringConstraints(max_length=512)] | None = None
    phone: Annotated[str, StringConstraints(max_length=20)] | None = None
    description: Text | None = None
    address: AddressIn | Blank | None = None
    shipping: ShippingIn | Blank | None = None
    tax_exempt: TaxExempt | Blank | None = None
    balance: Minor | None = None
    metadata: MetadataChange | None = None
    invoice_settings: InvoiceSettingsIn | None = None
    invoice_prefix: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{3,12}$")] | None = None
    next_invoice_sequence: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    preferred_locales: Keys | Blank | None = None


class CustomerIn(CustomerChange):
    """A new customer."""

    payment_method: Key | None = None
    tax_id_data: Annotated[list[TaxIdIn], Field(max_length=5)] | None = None


class CustomerList(TimedListParams):
    """Which customers; the e-mail address is compared exactly."""

    email: Text | None = None


class TaxIdCreate(RequestParams):
    """A new tax id of the customer in the path."""

    type: TaxIdType
    value: Annotated[str, StringConstraints(min_length=1, max_length=60)]


class Owner(Parameters):
    """To whom a tax id belongs."""

    type: Literal["customer"]
    customer: Key


class OwnedTaxIdCreate(TaxIdCreate):
    """A new tax id and its owner."""

    owner: Owner


class OwnerQuery(Parameters):
    """Whose tax ids."""

    type: Literal["customer"]
    customer: Key | None = None


class TaxIdList(ListParams):
    """Which tax ids."""

    owner: OwnerQuery | None = None


class BalanceEntryIn(RequestParams):
    """A line on a customer's balance; negative is credit."""

    amount: Minor
    currency: Currency
    description: Text | None = None
    metadata: Metadata | None = None


class BalanceEntryChange(MetadataIn):
    """What of a balance line can change."""

    description: Text | None = None


class BillingDetailsIn(Parameters):
    """Whose card or account it is."""

    address: AddressIn | Blank | None = None
    email: Text | None = None
    name: Name | None = None
    phone: Text | None = None


class CardIn(Parameters):
    """A card."""

    number: Annotated[str, StringConstraints(min_length=12, max_length=23)]
    exp_month: Annotated[int, Field(ge=0, le=99)]
    exp_year: Annotated[int, Field(ge=0, le=9999)]
    cvc: Annotated[str, StringConstraints(max_length=4)] | None = None


class CardChange(Parameters):
    """When a card expires."""

    exp_month: Annotated[int, Field(ge=0, le=99)] | None = None
    exp_year: Annotated[int, Field(ge=0, le=9999)] | None = None


class DebitIn(Parameters):
    """A bank account."""

    iban: Annotated[str, StringConstraints(min_length=10, max_length=50)]


class PaymentMethodIn(RequestParams):
    """A new payment method."""

    type: Literal["card", "sepa_debit"]
    card: CardIn | None = None
    sepa_debit: DebitIn | None = None
    billing_details: BillingDetailsIn | None = None
    metadata: Metadata | None = None


class PaymentMethodChange(MetadataIn):
    """What of a payment method can change."""

    card: CardChange | None = None
    billing_details: BillingDetailsIn | None = None


class PaymentMethodList(ListParams):
    """Whose payment methods, of which type."""

    customer: Key | None = None
    type: Literal["card", "sepa_debit", "customer_balance"] | None = None


class OwnPaymentMethodList(ListParams):
    """Which of a customer's payment methods."""

    type: Literal["card", "sepa_debit", "customer_balance"] | None = None


class AttachIn(RequestParams):
    """To whom to attach."""

    customer: Key


class PortalSessionIn(RequestParams):
    """A link for a customer to manage billing."""

    customer: Key
    return_url: Text | None = None
    configuration: Key | None = None
    locale: Key | None = None
    flow_data: "FlowIn | None" = None


class FlowIn(Parameters):
    """What the customer is led to."""

    type: Literal["payment_method_update", "subscription_cancel", "subscription_update", "subscription_update_confirm"]
