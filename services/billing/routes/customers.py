"""Customers, their tax ids, balance, payment methods and discount."""

from typing import Annotated

from fastapi import Query, Response

from services.billing.errors import NoSuchObject
from services.billing.operations import customers, endings, leaving, records
from services.billing.operations.listing import Where
from services.billing.routes.base import EVERYTHING, Plain, found, gone, many, noun_router, one
from services.billing.schemas import shown
from services.billing.schemas.base import Listed, Searched
from services.billing.schemas.customers import (
    BalanceEntryChange,
    BalanceEntryIn,
    CustomerChange,
    CustomerIn,
    CustomerList,
    OwnedTaxIdCreate,
    OwnPaymentMethodList,
    TaxIdCreate,
    TaxIdList,
)
from services.billing.schemas.shown import Deleted, Found, Page
from services.billing.tables import balance_entries, payment_methods, tax_ids
from services.billing.tables import customers as customer_rows
from services.kernel.app import CurrentWorld

router = noun_router("customers")
_ALL = "/customers"
_ONE = "/customers/{customer}"


@router.post(_ALL, operation_id="billing.customers.create", response_model=shown.Customer)
async def create(body: CustomerIn, world: CurrentWorld) -> Response:
    """Create a customer."""
    return one(world, customers.create(world, body.given()), body)


@router.get(_ALL, operation_id="billing.customers.list", response_model=Page[shown.Customer])
async def page(asked: Annotated[CustomerList, Query()], world: CurrentWorld) -> Response:
    """List customers, newest first; `email` is compared exactly."""
    return many(world, customer_rows, asked, "/v1/customers", Where(empty=("deleted",)), ("email",))


@router.get("/customers/search", operation_id="billing.customers.search", response_model=Found[shown.Customer])
async def search(asked: Annotated[Searched, Query()], world: CurrentWorld) -> Response:
    """Search customers by name, email, phone, created or metadata."""
    return found(world, customer_rows, asked, "/v1/customers/search")


@router.get(_ONE, operation_id="billing.customers.get", response_model=shown.Customer)
async def read(customer: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one customer."""
    return one(world, customers.read(world, customer), asked)


@router.post(_ONE, operation_id="billing.customers.update", response_model=shown.Customer)
async def update(customer: str, world: CurrentWorld, body: CustomerChange | None = None) -> Response:
    """Change a customer; an empty text unsets a field, metadata merges by key."""
    return one(world, customers.update(world, customer, body.given() if body else {}), body)


@router.delete(_ONE, operation_id="billing.customers.delete", response_model=Deleted)
async def delete(customer: str, world: CurrentWorld) -> Response:
    """Delete a customer for good; subscriptions end at once."""
    return gone(leaving.delete(world, customer))


@router.delete(_ONE + "/discount", operation_id="billing.customers.delete_discount", response_model=shown.Discount)
async def delete_discount(customer: str, world: CurrentWorld) -> Response:
    """Take the discount off a customer."""
    return gone(records.public(endings.delete_customer_discount(world, customer)))


@router.post(_ONE + "/tax_ids", operation_id="billing.customers.create_tax_id", response_model=shown.TaxId)
async def create_tax_id(customer: str, body: TaxIdCreate, world: CurrentWorld) -> Response:
    """Give a customer a tax id, such as a VAT number."""
    return one(world, customers.add_tax_id(world, customer, body.given()), body)


@router.get(_ONE + "/tax_ids", operation_id="billing.customers.list_tax_ids", response_model=Page[shown.TaxId])
async def list_tax_ids(customer: str, asked: Annotated[Listed, Query()], world: CurrentWorld) -> Response:
    """List a customer's tax ids."""
    customers.living(world, customer)
    where = Where(equal={"customer": customer})
    return many(world, tax_ids, asked, f"/v1/customers/{customer}/tax_ids", where)


@router.get(_ONE + "/tax_ids/{id}", operation_id="billing.customers.get_tax_id", response_model=shown.TaxId)
async def read_tax_id(customer: str, id: str, asked: Plain, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Read one of a customer's tax ids."""
    return one(world, customers.tax_id(world, id, customer), asked)


@router.delete(_ONE + "/tax_ids/{id}", operation_id="billing.customers.delete_tax_id", response_model=Deleted)
async def delete_tax_id(customer: str, id: str, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Remove a tax id from a customer."""
    return gone(customers.drop_tax_id(world, id, customer))


@router.post("/tax_ids", operation_id="billing.tax_ids.create", response_model=shown.TaxId)
async def create_owned_tax_id(body: OwnedTaxIdCreate, world: CurrentWorld) -> Response:
    """Give an owner a tax id."""
    return one(world, customers.add_tax_id(world, body.owner.customer, body.given()), body)


@router.get("/tax_ids", operation_id="billing.tax_ids.list", response_model=Page[shown.TaxId])
async def list_owned_tax_ids(asked: Annotated[TaxIdList, Query()], world: CurrentWorld) -> Response:
    """List tax ids, of one owner or of all."""
    owner = asked.owner.customer if asked.owner else None
    return many(world, tax_ids, asked, "/v1/tax_ids", Where(equal={"customer": owner}) if owner else EVERYTHING)


@router.get("/tax_ids/{id}", operation_id="billing.tax_ids.get", response_model=shown.TaxId)
async def read_owned_tax_id(id: str, asked: Plain, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Read a tax id."""
    return one(world, customers.tax_id(world, id), asked)


@router.delete("/tax_ids/{id}", operation_id="billing.tax_ids.delete", response_model=Deleted)
async def delete_owned_tax_id(id: str, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Delete a tax id."""
    return gone(customers.drop_tax_id(world, id))


@router.post(
    _ONE + "/balance_transactions",
    operation_id="billing.customers.create_balance_transaction",
    response_model=shown.BalanceEntry,
)
async def give_credit(customer: str, body: BalanceEntryIn, world: CurrentWorld) -> Response:
    """Move a customer's balance: a negative amount is credit for coming invoices."""
    return one(world, customers.give_credit(world, customer, body.given()), body)


@router.get(
    _ONE + "/balance_transactions",
    operation_id="billing.customers.list_balance_transactions",
    response_model=Page[shown.BalanceEntry],
)
async def list_entries(customer: str, asked: Annotated[Listed, Query()], world: CurrentWorld) -> Response:
    """List what moved a customer's balance."""
    customers.living(world, customer)
    where = Where(equal={"customer": customer})
    return many(world, balance_entries, asked, f"/v1/customers/{customer}/balance_transactions", where)


@router.get(
    _ONE + "/balance_transactions/{transaction}",
    operation_id="billing.customers.get_balance_transaction",
    response_model=shown.BalanceEntry,
)
async def read_entry(customer: str, transaction: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one line of a customer's balance."""
    return one(world, customers.balance_entry(world, customer, transaction), asked)


@router.post(
    _ONE + "/balance_transactions/{transaction}",
    operation_id="billing.customers.update_balance_transaction",
    response_model=shown.BalanceEntry,
)
async def update_entry(
    customer: str, transaction: str, world: CurrentWorld, body: BalanceEntryChange | None = None
) -> Response:
    """Change the description or metadata of a balance line; amounts are final."""
    return one(world, customers.annotate_entry(world, customer, transaction, body.given() if body else {}), body)


@router.get(
    _ONE + "/payment_methods",
    operation_id="billing.customers.list_payment_methods",
    response_model=Page[shown.PaymentMethod],
)
async def list_methods(customer: str, asked: Annotated[OwnPaymentMethodList, Query()], world: CurrentWorld) -> Response:
    """List a customer's payment methods."""
    customers.living(world, customer)
    where = Where(equal={"customer": customer})
    return many(world, payment_methods, asked, f"/v1/customers/{customer}/payment_methods", where, ("type",))


@router.get(
    _ONE + "/payment_methods/{payment_method}",
    operation_id="billing.customers.get_payment_method",
    response_model=shown.PaymentMethod,
)
async def read_method(customer: str, payment_method: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one of a customer's payment methods."""
    body = records.need(world, payment_methods, payment_method)
    if body["customer"] != customer:
        raise NoSuchObject("PaymentMethod", payment_method)
    return one(world, body, asked)
