"""Exports of what changed since a time, by cursor or by time."""

from dataclasses import dataclass
from typing import Generic, Literal

from services.desk.documents import DeskTable, Sort, decode_cursor, encode_cursor
from services.desk.errors import InvalidParameter, RecordInvalid
from services.desk.rows import BodyT, DeskRow, KeyT
from services.kernel.documents import Where, compare
from services.kernel.world import World

MOST = 1_000
_RECENT_SECONDS = 60
TimeColumn = Literal["created_at", "updated_at"]


@dataclass(frozen=True, slots=True)
class Export(Generic[KeyT, BodyT]):
    """Rows in the order in which they last changed, and where to go on."""

    rows: list[DeskRow[KeyT, BodyT]]
    end_of_stream: bool
    cursor: str | None
    end_time: int | None


def export_by_cursor(
    world: World, table: DeskTable[KeyT, BodyT], start_time: int | None, cursor: str | None, size: int
) -> Export[KeyT, BodyT]:
    """Exports from a time, or on from a cursor."""
    if cursor is not None:
        time_ms, key = _read_cursor(cursor)
    elif start_time is not None:
        time_ms, key = _start_ms(world, start_time), 0
    else:
        raise InvalidParameter("start_time", "Give a start_time or a cursor")
    where = Where("(updated_at, id) > (:since_at, :since_id)", {"since_at": time_ms, "since_id": key})
    rows = table.find(world, where, Sort("updated_at"), size)
    last = encode_cursor([rows[-1]["updated_at"], rows[-1]["id"]]) if rows else cursor or encode_cursor([time_ms, key])
    return Export(rows, len(rows) < size, last, None)


def export_by_time(
    world: World, table: DeskTable[KeyT, BodyT], start_time: int, size: int, column: TimeColumn = "updated_at"
) -> Export[KeyT, BodyT]:
    """Exports from a time; a second is never split, so the end time of one page starts the next."""
    where = compare(column, ">=", _start_ms(world, start_time))
    rows = table.find(world, where, Sort(column), size + 1)
    if len(rows) <= size:
        end = rows[-1][column] // 1000 if rows else start_time
        return Export(rows, True, None, end)
    until = rows[size - 1][column] // 1000
    whole_seconds = [row for row in rows if row[column] // 1000 < until]
    if whole_seconds:
        return Export(whole_seconds, False, None, until)
    second = where & compare(column, "<", (until + 1) * 1000)
    return Export(table.find(world, second, Sort(column)), False, None, until + 1)


def _start_ms(world: World, start_time: int) -> int:
    if start_time * 1000 > world.clock.now_ms() - _RECENT_SECONDS * 1000:
        raise RecordInvalid("start_time", "Too recent start_time. Use a start_time older than one minute")
    return start_time * 1000


def _read_cursor(cursor: str) -> tuple[int, int]:
    try:
        time_ms, key = decode_cursor(cursor)
    except (ValueError, TypeError) as error:
        raise InvalidParameter("cursor", "The cursor is not valid") from error
    if not isinstance(time_ms, int) or not isinstance(key, int):
        raise InvalidParameter("cursor", "The cursor is not valid")
    return time_ms, key
