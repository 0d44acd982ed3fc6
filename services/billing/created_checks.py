"""Checks for what an episode created in billing: nobody knows its id beforehand, so it is found by its fields."""

from dataclasses import replace
from typing import Any

from pydantic import Field

from services.billing.objects.customers import CustomerBody
from services.billing.objects.invoices import InvoiceBody
from services.billing.operations import records
from services.billing.rows import BillingTable, BodyT, CustomerId, IdT
from services.billing.tables import customers, invoices, subscription_items, subscriptions
from services.kernel.changes import AGENTS
from services.kernel.checks import Check, Finding
from services.kernel.judging import value_at
from services.kernel.world import World

_RUNNING = ("active", "trialing")
_ISSUED = ("open", "paid")


class CustomerCreated(Check):
    """Exactly one new customer has this address, and these values; texts are compared without case and spacing."""

    email: str
    values: dict[str, str | int | bool | None] = Field(default={})

    def run(self, world: World) -> Finding:
        bodies = _new_customers(world, self.email)
        return replace(self._compare(bodies), names=tuple(body["id"] for body in bodies))

    def _compare(self, bodies: list[CustomerBody]) -> Finding:
        if len(bodies) != 1:
            return self.fails(f"{len(bodies)} new customers have {self.email}")
        body = bodies[0]
        for path, wanted in self.values.items():
            if fold(value_at(body, path)) != fold(wanted):
                return self.fails(f"{body['id']}: {path} reads {value_at(body, path)!r}")
        return self.holds(f"{body['id']} is the new customer {self.email}")


class SubscriptionCreated(Check):
    """The new customer of this address runs on exactly one subscription, with these prices, quantities and fields."""

    email: str
    items: dict[str, int]
    values: dict[str, str | int | bool | None] = Field(default={})

    def run(self, world: World) -> Finding:
        running = [
            subscription
            for customer in _new_customers(world, self.email)
            for subscription in records.find_by(world, subscriptions, customer=customer["id"])
            if subscription["status"] in _RUNNING
        ]
        if len(running) != 1:
            return self.fails(f"{self.email} runs on {len(running)} subscriptions")
        body = running[0]
        bodies = records.find_by(world, subscription_items, subscription=body["id"])
        items: dict[str, int] = {item["price"]["id"]: item["quantity"] for item in bodies}
        if items != self.items:
            return self.fails(f"{body['id']} has {items}, not {self.items}")
        for path, wanted in self.values.items():
            if value_at(body, path) != wanted:
                return self.fails(f"{body['id']}: {path} is {value_at(body, path)!r}")
        return self.holds(f"{self.email} runs on {body['id']}")


class InvoiceCreated(Check):
    """Exactly one new invoice was issued to the customer; its total is this, and it names this."""

    customer: CustomerId
    total: int
    names: str = ""

    def run(self, world: World) -> Finding:
        created = [body for body in _list_created(world, invoices) if body["customer"] == self.customer]
        issued = [body for body in created if body["status"] in _ISSUED]
        if len(issued) != 1:
            return self.fails(f"{len(issued)} new invoices were issued to {self.customer}")
        if issued[0]["total"] != self.total:
            return self.fails(f"{issued[0]['id']} is over {issued[0]['total']}, not {self.total}")
        if fold(self.names) not in _join_printed_texts(issued[0]):
            return self.fails(f"{issued[0]['id']} does not name {self.names}")
        return self.holds(f"{issued[0]['id']} over {self.total} was issued to {self.customer}")


def _join_printed_texts(invoice: InvoiceBody) -> str:
    """Returns what the customer's accountants see beside the lines."""
    fields = [f"{field['name']} {field['value']}" for field in invoice["custom_fields"] or ()]
    return str(fold(" ".join([invoice["description"] or "", invoice["footer"] or "", *fields])))


def _list_created(world: World, table: BillingTable[IdT, BodyT]) -> list[BodyT]:
    """Returns the objects that agents created and that still exist."""
    changes = world.changes(table=table)
    by_agents = {change.row_id for change in changes if change.actor in AGENTS}
    keys: Any = dict.fromkeys(change.row_id for change in changes if change.before is None)
    bodies = [records.get(world, table, key) for key in keys if key in by_agents]
    return [body for body in bodies if body is not None and not body.get("deleted")]


def _new_customers(world: World, email: str) -> list[CustomerBody]:
    return [body for body in _list_created(world, customers) if fold(body["email"]) == fold(email)]


def fold(value: Any) -> Any:
    """Returns a text without case and spacing; anything else as it is."""
    return " ".join(value.split()).casefold() if isinstance(value, str) else value
