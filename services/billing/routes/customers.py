"""Customers, their tax ids, balance, payment methods and discount."""

from typing import Any

from services.billing.errors import NoSuchObject
from services.billing.objects.customers import PaymentMethodBody, TaxIdBody
from services.billing.operations import cancellation, customers, records
from services.billing.operations.delete_customer import delete_customer
from services.billing.operations.params import Params
from services.billing.operations.records import DeletedObject
from services.billing.routes import endpoints as serve
from services.billing.routes.endpoints import register
from services.billing.rows import CustomerId, PaymentMethodId, TaxIdId
from services.billing.schemas import customers as schemas
from services.billing.schemas.base import ListParams
from services.billing.schemas.responses import (
    BalanceEntry,
    Customer,
    Deleted,
    Discount,
    PaymentMethod,
    TaxId,
    make_search_page,
    page_of,
)
from services.billing.tables import balance_entries, payment_methods, tax_ids
from services.billing.tables import customers as customer_rows
from services.kernel.documents import EVERYTHING, Where, equal, is_null
from services.kernel.operations import Operation
from services.kernel.world import World


def _of_customer(world: World, customer: CustomerId, _: Any) -> Where:
    customers.need_customer(world, customer)
    return equal(customer=customer)


def _of_owner(_: World, query: schemas.TaxIdList) -> Where:
    owner = query.owner.customer if query.owner else None
    return equal(customer=owner) if owner else EVERYTHING


def _create_owned_tax_id(world: World, params: Params) -> TaxIdBody:
    return customers.create_tax_id(world, params["owner"]["customer"], params)


def _own_tax_id(world: World, customer: CustomerId, key: TaxIdId) -> TaxIdBody:
    return customers.need_tax_id(world, key, customer)


def _delete_own_tax_id(world: World, customer: CustomerId, key: TaxIdId) -> DeletedObject:
    return customers.delete_tax_id(world, key, customer)


def _own_method(world: World, customer: CustomerId, key: PaymentMethodId) -> PaymentMethodBody:
    body = records.need(world, payment_methods, key)
    if body["customer"] != customer:
        raise NoSuchObject("PaymentMethod", key)
    return body


# fmt: off
_OPERATIONS = (
    Operation("billing.customers.create", "POST", "/v1/customers", "Create", Customer,
              serve.post(schemas.CustomerIn, customers.create), "Create a customer."),
    Operation("billing.customers.list", "GET", "/v1/customers", "Page", page_of(Customer),
              serve.list_rows(schemas.CustomerList, customer_rows, ("email",), lambda *_: is_null("deleted")),
              "List customers, newest first; `email` is compared exactly."),
    Operation("billing.customers.search", "GET", "/v1/customers/search", "Search", make_search_page(Customer),
              serve.search(customer_rows), "Search customers by name, email, phone, created or metadata."),
    Operation("billing.customers.get", "GET", "/v1/customers/{customer}", "Read", Customer,
              serve.read_row(customer_rows), "Read one customer."),
    Operation("billing.customers.update", "POST", "/v1/customers/{customer}", "Update", Customer,
              serve.post_optional(schemas.CustomerChange, customers.update),
              "Change a customer; an empty text unsets a field, metadata merges by key."),
    Operation("billing.customers.delete", "DELETE", "/v1/customers/{customer}", "Delete", Deleted,
              serve.delete(delete_customer), "Delete a customer for good; subscriptions end at once."),
    Operation("billing.customers.delete_discount", "DELETE", "/v1/customers/{customer}/discount", "Delete Discount",
              Discount, serve.delete(cancellation.delete_customer_discount), "Take the discount off a customer."),
    Operation("billing.customers.create_tax_id", "POST", "/v1/customers/{customer}/tax_ids", "Create Tax Id", TaxId,
              serve.post(schemas.TaxIdCreate, customers.create_tax_id),
              "Give a customer a tax id, such as a VAT number."),
    Operation("billing.customers.list_tax_ids", "GET", "/v1/customers/{customer}/tax_ids", "List Tax Ids",
              page_of(TaxId), serve.list_rows(ListParams, tax_ids, where=_of_customer), "List a customer's tax ids."),
    Operation("billing.customers.get_tax_id", "GET", "/v1/customers/{customer}/tax_ids/{id}", "Read Tax Id", TaxId,
              serve.read(_own_tax_id), "Read one of a customer's tax ids."),
    Operation("billing.customers.delete_tax_id", "DELETE", "/v1/customers/{customer}/tax_ids/{id}", "Delete Tax Id",
              Deleted, serve.delete(_delete_own_tax_id), "Remove a tax id from a customer."),
    Operation("billing.tax_ids.create", "POST", "/v1/tax_ids", "Create Owned Tax Id", TaxId,
              serve.post(schemas.OwnedTaxIdCreate, _create_owned_tax_id), "Give an owner a tax id."),
    Operation("billing.tax_ids.list", "GET", "/v1/tax_ids", "List Owned Tax Ids", page_of(TaxId),
              serve.list_rows(schemas.TaxIdList, tax_ids, where=_of_owner), "List tax ids, of one owner or of all."),
    Operation("billing.tax_ids.get", "GET", "/v1/tax_ids/{id}", "Read Owned Tax Id", TaxId,
              serve.read(customers.need_tax_id), "Read a tax id."),
    Operation("billing.tax_ids.delete", "DELETE", "/v1/tax_ids/{id}", "Delete Owned Tax Id", Deleted,
              serve.delete(customers.delete_tax_id), "Delete a tax id."),
    Operation("billing.customers.create_balance_transaction", "POST", "/v1/customers/{customer}/balance_transactions",
              "Give Credit", BalanceEntry, serve.post(schemas.BalanceEntryIn, customers.create_balance_entry),
              "Move a customer's balance: a negative amount is credit for coming invoices."),
    Operation("billing.customers.list_balance_transactions", "GET", "/v1/customers/{customer}/balance_transactions",
              "List Entries", page_of(BalanceEntry), serve.list_rows(ListParams, balance_entries, where=_of_customer),
              "List what moved a customer's balance."),
    Operation("billing.customers.get_balance_transaction", "GET",
              "/v1/customers/{customer}/balance_transactions/{transaction}", "Read Entry", BalanceEntry,
              serve.read(customers.need_balance_entry), "Read one line of a customer's balance."),
    Operation("billing.customers.update_balance_transaction", "POST",
              "/v1/customers/{customer}/balance_transactions/{transaction}", "Update Entry", BalanceEntry,
              serve.post_optional(schemas.BalanceEntryChange, customers.update_balance_entry),
              "Change the description or metadata of a balance line; amounts are final."),
    Operation("billing.customers.list_payment_methods", "GET", "/v1/customers/{customer}/payment_methods",
              "List Methods", page_of(PaymentMethod),
              serve.list_rows(schemas.OwnPaymentMethodList, payment_methods, ("type",), _of_customer),
              "List a customer's payment methods."),
    Operation("billing.customers.get_payment_method", "GET",
              "/v1/customers/{customer}/payment_methods/{payment_method}", "Read Method", PaymentMethod,
              serve.read(_own_method), "Read one of a customer's payment methods."),
)
# fmt: on

router = register("customers", _OPERATIONS)
