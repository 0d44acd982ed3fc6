"""Exports of what changed since a time, by cursor or by time."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import orjson
import sqlalchemy as sa

from services.desk.errors import InvalidParameter, RecordInvalid
from services.desk.operations import listing
from services.desk.operations.listing import Order, Where
from services.desk.operations.showing import Shown, iso
from services.kernel.statements import Row
from services.kernel.world import World

MOST = 1_000
_RECENT_SECONDS = 60
_IN_ORDER = Order("updated_at")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows in the order in which they last changed, and where to go on."""

    rows: list[Row]
    end_of_stream: bool
    cursor: str | None
    end_time: int | None


def by_cursor(world: World, table: sa.Table, start_time: int | None, cursor: str | None, size: int) -> Stretch:
    """From a time, or on from a cursor."""
    if cursor is not None:
        at, key = _opened(cursor)
    elif start_time is not None:
        at, key = _began(world, start_time), 0
    else:
        raise InvalidParameter("start_time", "Give a start_time or a cursor")
    where = Where("(updated_at, id) > (:since_at, :since_id)", {"since_at": at, "since_id": key})
    rows = listing.every(world, table, where, _IN_ORDER, size)
    last = _sealed(rows[-1]) if rows else cursor or _seal(at, key)
    return Stretch(rows, len(rows) < size, last, None)


def by_time(world: World, table: sa.Table, start_time: int, size: int, column: str = "updated_at") -> Stretch:
    """From a time; a second is never split, so the end time of one page starts the next."""
    where = Where(f"{column} >= :since_at", {"since_at": _began(world, start_time)})
    rows = listing.every(world, table, where, Order(column), size + 1)
    if len(rows) <= size:
        end = rows[-1][column] // 1000 if rows else start_time
        return Stretch(rows, True, None, end)
    until = rows[size - 1][column] // 1000
    kept = [row for row in rows if row[column] // 1000 < until]
    if kept:
        return Stretch(kept, False, None, until)
    whole = Where(
        f"{column} >= :since_at AND {column} < :until_at", {**where.parameters, "until_at": (until + 1) * 1000}
    )
    return Stretch(listing.every(world, table, whole, Order(column)), False, None, until + 1)


def event(row: Row) -> Shown:
    """An audit as the stream of ticket events tells it."""
    body = row["body"]
    return {
        "id": row["id"],
        "ticket_id": body["ticket_id"],
        "timestamp": row["created_at"] // 1000,
        "created_at": iso(row["created_at"]),
        "updater_id": body["author_id"],
        "via": (body["via"] or {}).get("channel"),
        "system": body["metadata"]["system"],
        "metadata": body["metadata"],
        "event_type": "Audit",
        "child_events": [_child(one, row) for one in body["events"]],
    }


def _child(told: dict[str, Any], row: Row) -> Shown:
    child = {"id": told["id"], "event_type": told["type"], "created_at": iso(row["created_at"])}
    if told["type"] in ("Change", "Create"):
        child |= {told["field_name"]: told["value"]}
        if "previous_value" in told:
            child["previous_value"] = told["previous_value"]
    return child


def metric_event(row: Row) -> Shown:
    body = {name: value for name, value in row["body"].items() if name[0] != "_" and not name.endswith("_at")}
    return {"id": row["id"], **body, "time": iso(row["body"].get("time_at") or row["created_at"])}


def _began(world: World, start_time: int) -> int:
    if start_time * 1000 > world.clock.now_ms() - _RECENT_SECONDS * 1000:
        raise RecordInvalid("start_time", "Too recent start_time. Use a start_time older than one minute")
    return start_time * 1000


def _sealed(row: Row) -> str:
    return _seal(row["updated_at"], row["id"])


def _seal(at: int, key: int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([at, key])).decode().rstrip("=")


def _opened(cursor: str) -> tuple[int, int]:
    try:
        at, key = orjson.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, TypeError, UnicodeEncodeError) as error:
        raise InvalidParameter("cursor", "The cursor is not valid") from error
    if not isinstance(at, int) or not isinstance(key, int):
        raise InvalidParameter("cursor", "The cursor is not valid")
    return at, key
