"""Objects: find, add, change, remove; each change is also told as one of the vendor's events."""

import base64
import hashlib
from typing import Any

import sqlalchemy as sa

from services.billing import tables
from services.billing.errors import InvalidRequest, NoSuchObject, NoSuchReference, request_id_of
from services.kernel.world import World

Body = dict[str, Any]

API_VERSION = "2026-10-28.endive"
_MOST_KEYS, _LONGEST_KEY, _LONGEST_VALUE = 50, 40, 500


def now(world: World) -> int:
    return world.clock.now_ms() // 1000


def new_id(prefix: str, number: int) -> str:
    """Shaped as the vendor's ids, drawn from a counter: a replay meets the same object twice."""
    digest = hashlib.sha256(f"{prefix}\x1f{number}".encode()).digest()
    return f"{prefix}_{base64.b64encode(digest[:12], b'Qx').decode()}"


def counter(table: sa.Table) -> str:
    """Plain str: SQLAlchemy's names are a subclass, which JSON refuses as a key."""
    return str(table.name)


def upcoming(world: World, table: sa.Table) -> int:
    """The number that the next object of this kind will get."""
    return world.ids.snapshot().get(counter(table), 0) + 1


def get(world: World, table: sa.Table, key: str) -> Body | None:
    row = world.get(table, key)
    body: Body | None = None if row is None else row["body"]
    return body


def need(world: World, table: sa.Table, key: str) -> Body:
    """The object that a path names."""
    body = get(world, table, key)
    if body is None:
        raise NoSuchObject(spoken(table), key)
    return body


def refer(world: World, table: sa.Table, key: str, param: str) -> Body:
    """The object that a parameter names; what was deleted is not to be built upon."""
    body = get(world, table, key)
    if body is None or body.get("deleted"):
        raise NoSuchReference(spoken(table), key, param)
    return body


def known(world: World, table: sa.Table, key: str) -> Body:
    """An object that one of our own rows names: it is there, or we are broken."""
    body = get(world, table, key)
    if body is None:
        raise LookupError(f"{table.name} has no {key}")
    return body


def spoken(table: sa.Table) -> str:
    kind: str = table.info["kind"]
    return {"tax_id": "tax id", "payment_method": "PaymentMethod", "invoiceitem": "invoiceitem"}.get(kind, kind)


def add(world: World, table: sa.Table, body: Body, event: str | None = None) -> Body:
    """Give it an id and a place in time, unless it brings its own."""
    number = world.ids.next(counter(table))
    body = {**body, "id": body.get("id") or new_id(table.info["prefix"], number)}
    world.save(table, {"id": body["id"], "seq": number, "body": body}, event or "added")
    if event is not None:
        tell(world, event, body)
    return body


def change(world: World, table: sa.Table, body: Body, changes: Body, event: str | None = None) -> Body:
    row = world.get(table, body["id"])
    if row is None:
        raise LookupError(f"{table.name} has no {body['id']}")
    before = row["body"]
    after = {**before, **changes}
    if after == before:
        return after
    world.save(table, {**row, "body": after}, event or "changed")
    if event is not None:
        previous = {name: value for name, value in before.items() if after.get(name) != value}
        tell(world, event, after, previous if event.endswith(".updated") else None)
    return after


def remove(world: World, table: sa.Table, body: Body, event: str | None = None) -> Body:
    world.remove(table, body["id"], event or "removed")
    if event is not None:
        tell(world, event, body)
    return {"id": body["id"], "object": body["object"], "deleted": True}


def tell(world: World, event: str, body: Body, previous: Body | None = None) -> None:
    """Write the event row that the vendor would send to webhooks."""
    told: Body = {"object": public(body)}
    if previous:
        told["previous_attributes"] = public(previous)
    asked = world.actor == "agent"
    add(
        world,
        tables.events,
        {
            "object": "event",
            "api_version": API_VERSION,
            "created": now(world),
            "data": told,
            "livemode": True,
            "pending_webhooks": 0,
            "request": {"id": request_id_of(world.clock.now_ms()) if asked else None, "idempotency_key": None},
            "type": event,
        },
    )


def public(body: Body) -> Body:
    return {name: value for name, value in body.items() if name[0] != "_"}


def merged(metadata: dict[str, str] | None, given: dict[str, str] | str | None) -> dict[str, str]:
    """Keys merge; an empty value deletes its key, an empty text deletes all."""
    if given is None:
        return metadata or {}
    if isinstance(given, str):
        return {}
    result = {**(metadata or {}), **given}
    result = {key: value for key, value in result.items() if value != ""}
    if len(result) > _MOST_KEYS:
        raise InvalidRequest(f"Metadata can have at most {_MOST_KEYS} keys.", "metadata")
    for key, value in given.items():
        if len(key) > _LONGEST_KEY:
            raise InvalidRequest(f"Metadata keys must be under {_LONGEST_KEY} characters long.", f"metadata[{key}]")
        if len(value) > _LONGEST_VALUE:
            raise InvalidRequest(f"Metadata values must be under {_LONGEST_VALUE} characters long.", f"metadata[{key}]")
    return result


def cleared(value: Any) -> Any:
    """An empty text unsets a field."""
    return None if value == "" else value
