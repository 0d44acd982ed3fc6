"""The diff: every write of an episode with its before and after image."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
import sqlalchemy as sa

from services.kernel.statements import AnyKey, Row, Statement

# Who writes. What a job does that the agent started is the agent's doing, whenever it runs.
AGENT, AGENTS_JOB = "agent", "agent's job"
AGENTS = frozenset({AGENT, AGENTS_JOB})

house = sa.MetaData()

changes = sa.Table(
    "changes",
    house,
    sa.Column("revision", sa.Integer, primary_key=True),
    sa.Column("request", sa.Integer, nullable=False),
    sa.Column("at", sa.Integer, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("table_name", sa.Text, nullable=False),
    sa.Column("row_id", AnyKey, nullable=False),
    sa.Column("before", sa.Text),
    sa.Column("after", sa.Text),
    sa.Index("changes_by_row", "table_name", "row_id", "revision"),
)

RECORD = (
    "INSERT INTO changes (revision, request, at, actor, event, table_name, row_id, before, after) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# A request that was undone may have used the same revisions, but no two requests have one number.
WRITTEN = "SELECT max(revision), max(request), count(*) FROM changes WHERE table_name = :table_name"
SINCE = Statement(sa.select(changes).where(changes.c.revision > sa.bindparam("revision")).order_by(changes.c.revision))
OF_TABLE = Statement(
    sa.select(changes)
    .where(changes.c.table_name == sa.bindparam("table_name"), changes.c.revision > sa.bindparam("revision"))
    .order_by(changes.c.revision)
)
OF_ROW = Statement(
    sa.select(changes)
    .where(changes.c.table_name == sa.bindparam("table_name"), changes.c.row_id == sa.bindparam("row_id"))
    .order_by(changes.c.revision)
)


@dataclass(frozen=True, slots=True)
class Change:
    """One row written once: what it was, what it became, when, by whom and why."""

    revision: int
    request: int
    at: int
    actor: str
    event: str
    table: str
    row_id: int | str
    before: Row | None
    after: Row | None

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> "Change":
        revision, request, at, actor, event, table, row_id, before, after = values
        return cls(revision, request, at, actor, event, table, row_id, _image(before), _image(after))


@dataclass(frozen=True, slots=True)
class NetChange:
    """What an episode did to one row in all, whatever the way there."""

    table: str
    row_id: int | str
    before: Row | None
    after: Row | None


def net(history: Iterable[Change]) -> list[NetChange]:
    """Each touched row once, in the order first touched; rows that ended as they began are left out."""
    ends: dict[tuple[str, int | str], tuple[Row | None, Row | None]] = {}
    for change in history:
        key = (change.table, change.row_id)
        first = ends[key][0] if key in ends else change.before
        ends[key] = (first, change.after)
    return [NetChange(*key, before, after) for key, (before, after) in ends.items() if before != after]


def _image(text: str | None) -> Row | None:
    return None if text is None else orjson.loads(text)
