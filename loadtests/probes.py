"""Probes: one kind of call at a product, aimed at the first hundred records that its list shows."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from dayshift.wire import Opened

from loadtests.ceiling import Shot

_CONTACTS = "/crm/v3/objects/contacts"
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Probe:
    """What is asked, and where the records come from of which it is asked."""

    name: str
    product: str
    listing: str
    within: str
    path: Callable[[Record], str]
    body: Callable[[Record], dict[str, Any]] | None = None

    def shots(self, client: httpx.Client, opened: Opened) -> list[Shot]:
        access = opened.products[self.product]
        headers = {"authorization": f"Bearer {access.credential}", "content-type": "application/json"}
        page = client.get(access.base_url.rstrip("/") + self.listing, headers=headers)
        page.raise_for_status()
        return [self._shot(record, headers) for record in page.json()[self.within]]

    def _shot(self, record: Record, headers: Mapping[str, str]) -> Shot:
        if self.body is None:
            return Shot("GET", self.path(record), headers)
        return Shot("POST", self.path(record), headers, json.dumps(self.body(record)))


def _by_email(person: Record) -> dict[str, Any]:
    condition = {"propertyName": "email", "operator": "EQ", "value": person["properties"]["email"] or "nobody@here"}
    return {"filterGroups": [{"filters": [condition]}]}


def _of_requester(ticket: Record) -> str:
    return f"/api/v2/search.json?query={quote('type:ticket requester:' + str(ticket['requester_id']))}"


_PEOPLE = f"{_CONTACTS}?limit=100&properties=email"
_TICKETS = "/api/v2/tickets.json?page[size]=100"
_CUSTOMERS = "/v1/customers?limit=100"
READS_AND_SEARCHES = (
    Probe("CRM: contact by id", "crm", _PEOPLE, "results", lambda person: f"{_CONTACTS}/{person['id']}"),
    Probe("CRM: search by e-mail", "crm", _PEOPLE, "results", lambda _: f"{_CONTACTS}/search", _by_email),
    Probe("desk: ticket by id", "desk", _TICKETS, "tickets", lambda ticket: f"/api/v2/tickets/{ticket['id']}.json"),
    Probe("desk: search by requester", "desk", _TICKETS, "tickets", _of_requester),
    Probe("billing: customer by id", "billing", _CUSTOMERS, "data", lambda one: f"/v1/customers/{one['id']}"),
    Probe(
        "billing: invoices of a customer",
        "billing",
        _CUSTOMERS,
        "data",
        lambda one: f"/v1/invoices?customer={one['id']}&limit=10",
    ),
)
