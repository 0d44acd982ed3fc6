"""Billing's documents: read, add, change, remove and list objects; a change may record one of the vendor's events.

Lists and searches compose their conditions as `Where` (services.kernel.documents says why); statements that are always
the same, such as an account's balance in the journal, are Core `Statement`s built at import.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict

import sqlalchemy as sa

from services.billing import tables
from services.billing.errors import InvalidRequest, NoSuchObject, NoSuchReference, request_id_of
from services.billing.objects.events import EventBody, EventData
from services.billing.rows import BillingRow, BillingTable, BodyT, IdT
from services.kernel import documents
from services.kernel.documents import EVERYTHING, DocumentStore, Order, Where
from services.kernel.ids import Ids
from services.kernel.world import World

API_VERSION = "2026-10-28.endive"
EVENTS_KEPT_MS = 30 * 86_400_000
OLDEST_FIRST = Order(("created", "seq"))
NEWEST_FIRST = OLDEST_FIRST.reverse()

_DISPLAY_NAMES = {"tax_id": "tax id", "payment_method": "PaymentMethod"}


def display_name(table: sa.Table) -> str:
    """Returns what the vendor's messages call an object of this table."""
    kind: str = table.info["kind"]
    return _DISPLAY_NAMES.get(kind, kind)


_store = DocumentStore(
    not_found=lambda table, key: NoSuchObject(display_name(table), str(key)),
    bad_reference=lambda table, key, param: NoSuchReference(display_name(table), str(key), param),
    is_usable=lambda body: not body.get("deleted"),
)


class DeletedObject(TypedDict):
    """What is left of a deleted object."""

    id: str
    object: str
    deleted: Literal[True]


def now(world: World) -> int:
    return world.clock.now_ms() // 1000


# --- ids ------------------------------------------------------------------------------------------------------------


def template_id(prefix: str, number: int) -> str:
    """The id of an object that every episode of a world has."""
    return _shape_id(prefix, hashlib.sha256(f"{prefix}\x1f{number}".encode()).digest())


def new_id(ids: Ids, prefix: str, number: int) -> str:
    """The id of an object that this episode adds: made from its seed and a counter."""
    return _shape_id(prefix, ids.digest(prefix, number))


def new_token(ids: Ids, kind: str, number: int) -> str:
    """What follows the prefix of an id; also codes, and the last part of links."""
    return new_id(ids, kind, number)[len(kind) + 1 :]


def client_secret(intent: str) -> str:
    """A payment intent's secret, which depends on its id alone."""
    return f"{intent}_secret_{_shape_id('', hashlib.sha256(f'secret of {intent}'.encode()).digest())[1:]}"


def _shape_id(prefix: str, digest: bytes) -> str:
    """Shaped as the vendor's ids."""
    return f"{prefix}_{base64.b64encode(digest[:12], b'Qx').decode()}"


def counter_name(table: sa.Table) -> str:
    """Returns the table's name as a plain str: SQLAlchemy's names are a subclass, which JSON refuses as a key."""
    return str(table.name)


def upcoming_id(world: World, table: BillingTable[IdT, Any], after: int = 0) -> IdT:
    """Returns the id that the next object of this kind will get, or one `after` it."""
    untyped: Any = new_id(world.ids, table.info["prefix"], next_number(world, table) + after)
    typed: IdT = untyped
    return typed


def next_number(world: World, table: sa.Table) -> int:
    """Returns the number that the next object of this kind will get."""
    return world.ids.peek(counter_name(table))


# --- one object -----------------------------------------------------------------------------------------------------


def get(world: World, table: BillingTable[IdT, BodyT], key: IdT) -> BodyT | None:
    row: BillingRow[IdT, BodyT] | None = world.get(table, key)
    return None if row is None else row["body"]


def need(world: World, table: BillingTable[IdT, BodyT], key: IdT) -> BodyT:
    """Returns the object that a path names."""
    return _store.need(world, table, key)["body"]


def refer(world: World, table: BillingTable[IdT, BodyT], key: IdT, param: str) -> BodyT:
    """Returns the object that a parameter names."""
    return _store.refer(world, table, key, param)["body"]


def must_exist(world: World, table: BillingTable[IdT, BodyT], key: IdT) -> BodyT:
    """Returns the object that one of our own rows names: without it the world is broken."""
    return _store.must_exist(world, table, key)["body"]


def add(world: World, table: BillingTable[IdT, BodyT], body: BodyT, event: str | None = None) -> BodyT:
    """Adds an object and gives it an id, unless it has its own."""
    number = world.ids.next(counter_name(table))
    key = body.get("id") or new_id(world.ids, table.info["prefix"], number)
    added = _store.add(world, table, {**body, "id": key}, key, event or "added", seq=number)["body"]
    if event is not None:
        record_event(world, event, added)
    return added


def change(
    world: World,
    table: BillingTable[IdT, BodyT],
    body: Mapping[str, Any],
    changes: Mapping[str, Any],
    event: str | None = None,
) -> BodyT:
    """Writes these changes to the object as it is stored now; `body` says which one."""
    row = _store.must_exist(world, table, body["id"])
    changed = _store.change(world, table, row, changes, event or "changed")
    after = changed["body"]
    if event is not None and changed is not row:
        previous = _previous_attributes(row["body"], after) if event.endswith(".updated") else None
        record_event(world, event, after, previous)
    return after


def remove(
    world: World, table: BillingTable[IdT, BodyT], body: Mapping[str, Any], event: str | None = None
) -> DeletedObject:
    _store.remove(world, table, body["id"], event or "removed")
    if event is not None:
        record_event(world, event, body)
    return {"id": body["id"], "object": body["object"], "deleted": True}


# --- events ---------------------------------------------------------------------------------------------------------


def record_event(world: World, event: str, body: Mapping[str, Any], previous: Mapping[str, Any] | None = None) -> None:
    """Writes the event row that the vendor would send to webhooks; those of a month ago are not kept."""
    if world.clock.now_ms() <= world.start_ms - EVENTS_KEPT_MS:
        return
    data: EventData = {"object": without_private(body)}
    if previous:
        data["previous_attributes"] = without_private(previous)
    by_request = world.actor == "agent"
    row: EventBody = {
        "object": "event",
        "api_version": API_VERSION,
        "created": now(world),
        "data": data,
        "livemode": True,
        "pending_webhooks": 0,
        "request": {"id": request_id_of(world.clock.now_ms()) if by_request else None, "idempotency_key": None},
        "type": event,
    }
    add(world, tables.events, row)


def without_private(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields that the vendor shows: names with an underscore are ours."""
    return {name: value for name, value in body.items() if name[0] != "_"}


def _previous_attributes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in before.items() if after.get(name) != value}


# --- many objects ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list: how many, after or before which object."""

    limit: int = 10
    starting_after: str | None = None
    ending_before: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[BodyT]):
    """Some objects, and whether more follow."""

    bodies: list[BodyT]
    has_more: bool
    # Where a search goes on.
    next_page: str | None = None


def find_by(world: World, table: BillingTable[IdT, BodyT], **equal: Any) -> list[BodyT]:
    """Returns all objects whose columns have these values, oldest first."""
    return select(world, table, documents.equal(**equal))


def select(world: World, table: BillingTable[IdT, BodyT], where: Where = EVERYTHING) -> list[BodyT]:
    """Returns all objects that match, oldest first."""
    return [row["body"] for row in documents.select(world, table, where, OLDEST_FIRST)]


def page(world: World, table: BillingTable[IdT, BodyT], window: Window, where: Where = EVERYTHING) -> Page[BodyT]:
    """Returns a part of the list of all objects that match, newest first."""
    if window.starting_after is not None and window.ending_before is not None:
        raise InvalidRequest("You may only specify one of these parameters: starting_after, ending_before.")
    place = None
    if window.ending_before is not None:
        place = _place_of(world, table, window.ending_before, "ending_before")
    elif window.starting_after is not None:
        place = _place_of(world, table, window.starting_after, "starting_after")
    backwards = window.ending_before is not None
    part = documents.select_slice(world, table, where, NEWEST_FIRST, window.limit, place, backwards=backwards)
    return Page([row["body"] for row in part.rows], part.has_more)


def _place_of(world: World, table: sa.Table, cursor: str, param: str) -> tuple[Any, ...]:
    places = world.rows(f"SELECT created, seq FROM {table.name} WHERE id = ?", (cursor,))  # noqa: S608 - our own names
    if not places:
        raise InvalidRequest(f"No such {display_name(table)}: '{cursor}'", param, "resource_missing")
    return places[0]
