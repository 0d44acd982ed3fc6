"""The diff: every write of an episode with its before and after image."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
import sqlalchemy as sa

from services.kernel.statements import AnyKey, Row, Statement

# Who writes a row: the agent, a job that the agent started (whenever it runs), a colleague or a customer whom the
# harness plays, the passing of time (renewals, automations), or Dayshift itself when it plants a task.
AGENT, AGENTS_JOB = "agent", "agent's job"
COLLEAGUE, CUSTOMER, TIME, SYSTEM = "colleague", "customer", "time", "system"
AGENTS = frozenset({AGENT, AGENTS_JOB})
# The event of a row that a task's setup writes.
PLANTED = "planted"

# Tables of our own in every world file: `changes` and `world_meta`.
kernel_tables = sa.MetaData()

changes = sa.Table(
    "changes",
    kernel_tables,
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
    """What an episode did to one row altogether, however many writes it took."""

    table: str
    row_id: int | str
    before: Row | None
    after: Row | None


def net(history: Iterable[Change]) -> list[NetChange]:
    """Each changed row once, in the order of the first change; rows that ended as they began are left out."""
    images: dict[tuple[str, int | str], tuple[Row | None, Row | None]] = {}
    for change in history:
        key = (change.table, change.row_id)
        first = images[key][0] if key in images else change.before
        images[key] = (first, change.after)
    return [NetChange(*key, before, after) for key, (before, after) in images.items() if before != after]


def _image(text: str | None) -> Row | None:
    return None if text is None else orjson.loads(text)
