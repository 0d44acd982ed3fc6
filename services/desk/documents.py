"""Tables of the desk: documents that are read, written and listed with the desk's own refusals.

The methods stand on the table, so that the type checker knows which body a literal is to be:
`uploads.change(world, row, {**row["body"], "used": True})` does not pass with a misspelt name.
Conditions are SQL text with named parameters, not Core: a search or a view composes them anew for every request, and
compiling a Core statement costs a millisecond, where SQLite keeps each text prepared.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson
import sqlalchemy as sa

from services.desk.errors import InvalidParameter, RecordInvalid, RecordNotFound
from services.desk.rows import BodyT, DeskRow, KeyT
from services.kernel import documents
from services.kernel.documents import EVERYTHING, DocumentStore, Order, Where
from services.kernel.errors import Refusal
from services.kernel.statements import Key, RowTable
from services.kernel.world import World

# Columns that are never NULL: others are compared through ifnull, or a cursor would lose their rows.
_FILLED = frozenset({"id", "created_at", "updated_at", "status_rank"})
ALIVE = Where("deleted_at IS NULL")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Sort:
    """The column that a list is sorted by, and the direction; equal rows follow in the order of their ids."""

    column: str = "id"
    descending: bool = False

    @property
    def term(self) -> str:
        return self.column if self.column in _FILLED else f"ifnull({self.column}, '')"

    @property
    def order(self) -> Order:
        return Order(("id",) if self.column == "id" else (self.term, "id"), self.descending)


BY_ID = Sort()


@dataclass(frozen=True, slots=True)
class PageNumbering:
    """The nth page, with a count of all."""

    page: int = 1
    size: int = 100

    @property
    def start(self) -> int:
        return (self.page - 1) * self.size


@dataclass(frozen=True, slots=True)
class CursorPaging:
    """So many rows after, or before, a place."""

    size: int = 100
    after: str | None = None
    before: str | None = None


Paging = PageNumbering | CursorPaging


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items and what is around them."""

    rows: list[Item]
    has_more: bool
    # Of all pages, where pages have numbers.
    count: int | None = None
    after_cursor: str | None = None
    before_cursor: str | None = None


def _not_found(_: sa.Table, __: Key) -> Refusal:
    return RecordNotFound()


def _bad_reference(_: sa.Table, __: Key, field: str) -> Refusal:
    return RecordInvalid(field, f"{field.removesuffix('_id').replace('_', ' ').capitalize()}: is invalid")


def _times_when_added(world: World) -> Mapping[str, int]:
    now = world.clock.now_ms()
    return {"created_at": now, "updated_at": now}


def _times_when_changed(world: World) -> Mapping[str, int]:
    return {"updated_at": world.clock.now_ms()}


_STORE = DocumentStore(
    not_found=_not_found,
    bad_reference=_bad_reference,
    columns_when_added=_times_when_added,
    columns_when_changed=_times_when_changed,
    name_event=lambda table, event: f"{table.info['kind']}.{event}",
)


class DeskTable(RowTable[DeskRow[KeyT, BodyT], KeyT], Generic[KeyT, BodyT]):
    """One table of documents."""

    inherit_cache = True

    def need(self, world: World, key: KeyT) -> DeskRow[KeyT, BodyT]:
        """Returns the row that a path names, or refuses with 404."""
        return _STORE.need(world, self, key)

    def refer(self, world: World, key: KeyT, field: str) -> DeskRow[KeyT, BodyT]:
        """Returns the row that a field of the request names, or refuses with 422."""
        return _STORE.refer(world, self, key, field)

    def must_exist(self, world: World, key: KeyT) -> DeskRow[KeyT, BodyT]:
        """Returns the row that one of our own rows names; without it the world is broken."""
        return _STORE.must_exist(world, self, key)

    def add(self, world: World, body: BodyT, key: KeyT | None = None) -> DeskRow[KeyT, BodyT]:
        return _STORE.add(world, self, body, key)

    def change(
        self, world: World, row: DeskRow[KeyT, BodyT], body: BodyT, event: str = "updated"
    ) -> DeskRow[KeyT, BodyT]:
        """Writes another body; a row whose body stays as it is keeps its time too."""
        return _STORE.change(world, self, row, body, event)

    def discard(self, world: World, key: KeyT) -> None:
        _STORE.remove(world, self, key)

    def find(
        self, world: World, where: Where = EVERYTHING, sort: Sort = BY_ID, limit: int = -1
    ) -> list[DeskRow[KeyT, BodyT]]:
        """Returns all rows that match, or the first `limit` of them."""
        return documents.select(world, self, where, sort.order, limit)

    def by_ids(self, world: World, ids: Iterable[KeyT]) -> list[DeskRow[KeyT, BodyT]]:
        """Returns rows in the order of `ids`; ids without a row are left out."""
        return documents.select_by_id(world, self, ids)

    def count_rows(self, world: World, where: Where = EVERYTHING) -> int:
        return documents.count(world, self, where)

    def page(
        self, world: World, paging: Paging, where: Where = EVERYTHING, sort: Sort = BY_ID
    ) -> Page[DeskRow[KeyT, BodyT]]:
        if isinstance(paging, PageNumbering):
            rows = documents.select_numbered(world, self, where, sort.order, paging.size, paging.start)
            total = documents.count(world, self, where)
            return Page(rows, paging.start + len(rows) < total, total)
        backwards = paging.before is not None
        cursor = paging.before or paging.after
        place = None if cursor is None else _read_place(cursor)
        order = Order((sort.term, "id"), sort.descending)
        part = documents.select_slice(world, self, where, order, paging.size, place, backwards=backwards)
        first, last = (encode_cursor(part.places[0]), encode_cursor(part.places[-1])) if part.rows else (None, None)
        return Page(part.rows, backwards or part.has_more, None, last, first)


def cut_page(rows: Sequence[Item], paging: Paging) -> Page[Item]:
    """Returns a page of items that are in memory already."""
    if isinstance(paging, PageNumbering):
        start = paging.start
        return Page(list(rows[start : start + paging.size]), start + paging.size < len(rows), len(rows))
    start = _read_offset(paging.after)
    if paging.before is not None:
        start = max(0, _read_offset(paging.before) - paging.size)
    items = list(rows[start : start + paging.size])
    return Page(
        items, start + paging.size < len(rows), None, encode_cursor((start + len(items),)), encode_cursor((start,))
    )


def select_ids(table: str, condition: str, column: str = "id") -> str:
    """Selects ids; tables and columns are our own names, and every value in `condition` is bound."""
    return f"SELECT {column} FROM {table} WHERE {condition}"  # noqa: S608 - see above


def find_linked(links: str, kind: str, value: str) -> Where:
    """Rows with this tag, person in copy or custom value: `links` is ticket_links, user_links or organization_links."""
    owners = select_ids(links, "kind = :linked_kind AND value = :linked_value", "owner_id")
    return Where(f"id IN ({owners})", {"linked_kind": kind, "linked_value": value})


def encode_cursor(place: Sequence[Any]) -> str:
    """Writes a place in a list as text that clients send back as it is."""
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def decode_cursor(cursor: str) -> Any:
    """Reads what `encode_cursor` wrote; raises ValueError for anything else."""
    return orjson.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))


def _read_cursor(cursor: str) -> list[Any]:
    try:
        place = decode_cursor(cursor)
    except ValueError as error:
        raise InvalidParameter("page", "The cursor is not valid") from error
    if not isinstance(place, list) or not all(isinstance(part, int | str) for part in place):
        raise InvalidParameter("page", "The cursor is not valid")
    return place


def _read_place(cursor: str) -> tuple[Any, Any]:
    place = _read_cursor(cursor)
    if len(place) != 2:
        raise InvalidParameter("page", "The cursor is not valid")
    return place[0], place[1]


def _read_offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    place = _read_cursor(cursor)
    if len(place) != 1 or not isinstance(place[0], int) or place[0] < 0:
        raise InvalidParameter("page", "The cursor is not valid")
    return int(place[0])
