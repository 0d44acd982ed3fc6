"""Work at billing: customers, their invoices and charges; each write is read again in three ways."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from loadtests.calls import Response
from loadtests.workers.worker import PAGE, Activity, Exchanges, Worker

_CUSTOMERS = "/v1/customers"


class BillingWorker(Worker):
    """One colleague at billing."""

    product = "billing"
    watched: ClassVar = ("name", "email", "phone", "description")
    content_type = "application/x-www-form-urlencoded"

    def _activities(self) -> Mapping[Activity, int]:
        return {
            self._read_one: 5,
            self._read_invoices: 2,
            self._read_charges: 1,
            self._update: 3,
            self._create: 1,
        }

    def _browse(self) -> Exchanges:
        after = f"&starting_after={self._pick()}" if self._listed else ""
        response = yield self._get("list", f"{_CUSTOMERS}?limit={PAGE}{after}")
        self._check_customers(response)
        self._list([customer["id"] for customer in response.json()["data"]])

    def _read_one(self) -> Exchanges:
        yield from self._read_by_id(self._pick())

    def _read_invoices(self) -> Exchanges:
        response = yield self._get("invoices", f"/v1/invoices?customer={self._pick()}&limit=10")
        self._check_revision(response)

    def _read_charges(self) -> Exchanges:
        response = yield self._get("charges", f"/v1/charges?limit={PAGE}")
        self._check_revision(response)

    def _update(self) -> Exchanges:
        customer, values = self._pick(), self._new_values()
        response = yield self._call("update", "POST", f"{_CUSTOMERS}/{customer}", values)
        self._record_write(response, {customer: values})
        yield from self._read_again(customer)

    def _create(self) -> Exchanges:
        values = {"name": f"Ada {self._writes}", **self._new_values()}
        response = yield self._call("create", "POST", _CUSTOMERS, values)
        customer = str(response.json()["id"])
        self._record_write(response, {customer: values})
        yield from self._read_again(customer)

    def _read_again(self, customer: str) -> Exchanges:
        for read in (self._read_by_id, self._read_in_list, self._read_by_search):
            yield from read(customer)

    def _read_by_id(self, customer: str) -> Exchanges:
        response = yield self._get("get", f"{_CUSTOMERS}/{customer}")
        self._check_customers(response, customer)

    def _read_in_list(self, customer: str) -> Exchanges:
        email = quote(self._observations.known[customer]["email"])
        response = yield self._get("list", f"{_CUSTOMERS}?email={email}")
        self._check_customers(response, customer)

    def _read_by_search(self, customer: str) -> Exchanges:
        query = quote(f"phone:'{self._observations.known[customer]['phone']}'")
        response = yield self._get("search", f"{_CUSTOMERS}/search?query={query}")
        self._check_customers(response, customer)

    def _new_values(self) -> dict[str, str]:
        number = self._count_write()
        return {
            "phone": f"+49 30 {self._episode[:8]} {number}",
            "email": f"billing.{number}.{self._episode[-6:]}@corvane.eu",
            "description": f"Reached on line {number}",
        }

    def _check_customers(self, response: Response, expected_id: str | None = None) -> None:
        body = response.json()
        customers: list[Mapping[str, Any]] = body.get("data", [body])
        self._check(response, {customer["id"]: customer for customer in customers}, expected_id)

    def _encode(self, body: Any) -> bytes:
        return urlencode(body).encode()
