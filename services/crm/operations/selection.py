"""Which records a search means, as SQL in the form that the question at hand is quickest with."""

import re
from dataclasses import dataclass

import orjson

from services.crm.operations.conditions import Binder, Condition
from services.kernel.world import World

LIVE = "o.kind = :kind AND o.archived_at IS NULL"
_OTHER_COLUMN = re.compile(r"\bo\.(?!id\b)")


@dataclass(frozen=True, slots=True)
class Selection:
    """Groups of conditions, one of which must hold whole, and perhaps a bound full-text query."""

    groups: tuple[tuple[Condition, ...], ...]
    text: str | None
    # All that it means, where they were asked for already.
    ids: frozenset[int] | None = None

    @property
    def where(self) -> str:
        """Over `objects o`, complete."""
        return f"{LIVE} AND {self._tested}"

    @property
    def walked(self) -> str:
        """As `where`, for a walk through an index that stops after a page: look-ups instead of lists, if it can be."""
        group = self.groups[0] if len(self.groups) == 1 and self.text is None else ()
        tested = " AND ".join(one.probe or one.sql for one in group)
        return f"{LIVE} AND {tested}" if group else self.where

    @property
    def narrow(self) -> str:
        """Over `objects o`, without what the conditions imply: the index of values knows live records only."""
        return self._tested if self._implies_live else self.where

    @property
    def by_id(self) -> str:
        """Over live records of the kind that are called `o` and have nothing but an id."""
        if _OTHER_COLUMN.search(self._tested):
            return f"o.id IN (SELECT o.id FROM objects o WHERE {self.narrow})"  # noqa: S608 - bound
        return self._tested

    def settled(self, world: World, binder: Binder) -> "tuple[Selection, int]":
        """How many there are; tests that must look at every value are asked once, and their ids kept."""
        if self.text is None and all(one.probe is not None for group in self.groups for one in group):
            return self, self.count(world, binder)
        ids = [found for (found,) in world.rows(f"SELECT o.id FROM {self._counted}", binder.parameters)]  # noqa: S608 - bound
        kept = f"SELECT value AS id FROM json_each({binder.bind(orjson.dumps(ids).decode())})"  # noqa: S608 - bound
        return Selection(((Condition(f"o.id IN ({kept})", kept),),), None, frozenset(ids)), len(ids)

    def count(self, world: World, binder: Binder) -> int:
        found: int = world.rows(f"SELECT count(*) FROM {self._counted}", binder.parameters)[0][0]  # noqa: S608 - bound
        return found

    @property
    def _counted(self) -> str:
        """One group that starts from values is counted in the index of values alone."""
        lone = self.groups[0] if len(self.groups) == 1 and self.text is None else ()
        first = next((one for one in lone if one.rows is not None), None)
        if first is None:
            return f"objects o WHERE {self.where}"
        others = " AND ".join(one.sql for one in lone if one is not first) or "1"
        if _OTHER_COLUMN.search(others):
            return f"objects o WHERE {self.narrow}"
        return f"({first.rows}) o WHERE {others}"

    @property
    def _tested(self) -> str:
        parts = []
        if self.groups:
            either = (" AND ".join(one.sql for one in group) or "1" for group in self.groups)
            parts.append("(" + " OR ".join(f"({group})" for group in either) + ")")
        if self.text is not None:
            parts.append(f"o.id IN (SELECT rowid FROM object_texts WHERE object_texts MATCH {self.text})")  # noqa: S608 - bound
        return " AND ".join(parts) or "1"

    @property
    def _implies_live(self) -> bool:
        starts = bool(self.groups) and all(any(one.rows is not None for one in group) for group in self.groups)
        return starts or self.text is not None
