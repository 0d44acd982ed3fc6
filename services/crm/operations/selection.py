"""Which records a search selects, as SQL in the form that answers the question at hand fastest."""

import re
from dataclasses import dataclass

import orjson

from services.crm.operations.conditions import Condition
from services.crm.rows import RecordId
from services.kernel.documents import Binder
from services.kernel.world import World

LIVE = "o.kind = :kind AND o.archived_at IS NULL"
_OTHER_COLUMN = re.compile(r"\bo\.(?!id\b)")


@dataclass(frozen=True, slots=True)
class Selection:
    """Groups of conditions, one of which must hold as a whole, and perhaps a bound full-text query."""

    groups: tuple[tuple[Condition, ...], ...]
    text: str | None
    # The ids of all selected records, if they have been computed already.
    ids: frozenset[RecordId] | None = None

    @property
    def where(self) -> str:
        """Returns the complete condition over `objects o`."""
        return f"{LIVE} AND {self._tests}"

    @property
    def where_in_scan(self) -> str:
        """As `where`, for a scan of an index that stops after a page: look-ups instead of lists where possible."""
        group = self.groups[0] if len(self.groups) == 1 and self.text is None else ()
        tests = " AND ".join(condition.probe or condition.sql for condition in group)
        return f"{LIVE} AND {tests}" if group else self.where

    @property
    def where_minimal(self) -> str:
        """As `where`, without what the conditions imply: the index of values holds live records only."""
        return self._tests if self._implies_live else self.where

    @property
    def where_by_id(self) -> str:
        """Returns the condition over live records of the type that are called `o` and have no column but `id`."""
        if _OTHER_COLUMN.search(self._tests):
            return f"o.id IN (SELECT o.id FROM objects o WHERE {self.where_minimal})"  # noqa: S608 - bound
        return self._tests

    def evaluate(self, world: World, binder: Binder) -> "tuple[Selection, int]":
        """Counts the records; if a test must look at every value, it runs once and its ids are kept."""
        if self.text is None and all(condition.probe is not None for group in self.groups for condition in group):
            count: int = world.rows(f"SELECT count(*) FROM {self._source}", binder.parameters)[0][0]  # noqa: S608 - bound
            return self, count
        ids = [record_id for (record_id,) in world.rows(f"SELECT o.id FROM {self._source}", binder.parameters)]  # noqa: S608 - bound
        selected = f"SELECT value AS id FROM json_each({binder.bind(orjson.dumps(ids).decode())})"  # noqa: S608 - bound
        return Selection(((Condition(f"o.id IN ({selected})", selected),),), None, frozenset(ids)), len(ids)

    @property
    def _source(self) -> str:
        """A single group that starts from values is evaluated in the index of values alone."""
        group = self.groups[0] if len(self.groups) == 1 and self.text is None else ()
        first = next((condition for condition in group if condition.rows is not None), None)
        if first is None:
            return f"objects o WHERE {self.where}"
        others = " AND ".join(condition.sql for condition in group if condition is not first) or "1"
        if _OTHER_COLUMN.search(others):
            return f"objects o WHERE {self.where_minimal}"
        return f"({first.rows}) o WHERE {others}"

    @property
    def _tests(self) -> str:
        parts = []
        if self.groups:
            groups = (" AND ".join(condition.sql for condition in group) or "1" for group in self.groups)
            parts.append("(" + " OR ".join(f"({group})" for group in groups) + ")")
        if self.text is not None:
            parts.append(f"o.id IN (SELECT rowid FROM object_texts WHERE object_texts MATCH {self.text})")  # noqa: S608 - bound
        return " AND ".join(parts) or "1"

    @property
    def _implies_live(self) -> bool:
        uses_values = bool(self.groups) and all(
            any(condition.rows is not None for condition in group) for group in self.groups
        )
        return uses_values or self.text is not None
