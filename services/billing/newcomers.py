"""What was made anew in billing, found by what it is: nobody knows its id beforehand."""

from dataclasses import replace
from typing import Any

from pydantic import Field

from services.billing.operations import listing, records
from services.billing.tables import customers, invoices, subscription_items, subscriptions
from services.kernel.changes import AGENTS
from services.kernel.checks import Check, Finding
from services.kernel.world import World

Body = dict[str, Any]
_RUNNING = ("active", "trialing")
_ISSUED = ("open", "paid")


class CustomerMade(Check):
    """Exactly one new customer bears this address, and its fields read so; texts by their letters."""

    email: str
    values: dict[str, str | int | bool | None] = Field(default={})

    def ask(self, world: World) -> Finding:
        found = _new_customers(world, self.email)
        return replace(self._judged(found), names=tuple(one["id"] for one in found))

    def _judged(self, found: list[Body]) -> Finding:
        if len(found) != 1:
            return self.failed(f"{len(found)} new customers have {self.email}")
        wrong = [path for path, wanted in self.values.items() if _folded(_at(found[0], path)) != _folded(wanted)]
        if wrong:
            return self.failed(f"{found[0]['id']}: {wrong[0]} reads {_at(found[0], wrong[0])!r}")
        return self.held(f"{found[0]['id']} is the new customer {self.email}")


class SubscriptionMade(Check):
    """The new customer of this address runs on exactly one subscription, with these prices, quantities and fields."""

    email: str
    items: dict[str, int]
    values: dict[str, str | int | bool | None] = Field(default={})

    def ask(self, world: World) -> Finding:
        found = [one for customer in _new_customers(world, self.email) for one in _running(world, customer["id"])]
        if len(found) != 1:
            return self.failed(f"{self.email} runs on {len(found)} subscriptions")
        held = listing.of(world, subscription_items, subscription=found[0]["id"])
        items = {item["price"]["id"]: item["quantity"] for item in held}
        if items != self.items:
            return self.failed(f"{found[0]['id']} has {items}, not {self.items}")
        wrong = [path for path, wanted in self.values.items() if _at(found[0], path) != wanted]
        if wrong:
            return self.failed(f"{found[0]['id']}: {wrong[0]} is {_at(found[0], wrong[0])!r}")
        return self.held(f"{self.email} runs on {found[0]['id']}")


class InvoiceMade(Check):
    """Exactly one new invoice of the customer was issued; it is over this much and names this."""

    customer: str
    total: int
    names: str = ""

    def ask(self, world: World) -> Finding:
        made = [one for one in _made(world, invoices) if one["customer"] == self.customer]
        issued = [one for one in made if one["status"] in _ISSUED]
        if len(issued) != 1:
            return self.failed(f"{len(issued)} new invoices were issued to {self.customer}")
        if issued[0]["total"] != self.total:
            return self.failed(f"{issued[0]['id']} is over {issued[0]['total']}, not {self.total}")
        if _folded(self.names) not in _printed(issued[0]):
            return self.failed(f"{issued[0]['id']} does not name {self.names}")
        return self.held(f"{issued[0]['id']} over {self.total} was issued to {self.customer}")


def _printed(invoice: Body) -> str:
    """What the customer's accountants see beside the lines."""
    fields = [f"{one['name']} {one['value']}" for one in invoice["custom_fields"] or ()]
    return str(_folded(" ".join([invoice["description"] or "", invoice["footer"] or "", *fields])))


def _made(world: World, table: Any) -> list[Body]:
    changes = world.changes(table=table)
    keys = [one.row_id for one in changes if one.before is None]
    ours = {one.row_id for one in changes if one.actor in AGENTS}
    found = [records.get(world, table, str(key)) for key in dict.fromkeys(keys) if key in ours]
    return [one for one in found if one is not None and not one.get("deleted")]


def _new_customers(world: World, email: str) -> list[Body]:
    return [one for one in _made(world, customers) if _folded(one["email"]) == _folded(email)]


def _running(world: World, customer: str) -> list[Body]:
    return [one for one in listing.of(world, subscriptions, customer=customer) if one["status"] in _RUNNING]


def _at(body: Body, path: str) -> Any:
    found: Any = body
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _folded(value: Any) -> Any:
    return " ".join(value.split()).casefold() if isinstance(value, str) else value
