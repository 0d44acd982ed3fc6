"""What was written down anew: activities on a record, and who is on a list."""

from fractions import Fraction
from typing import Literal

from pydantic import Field

from services.crm.indexing import fold, number
from services.crm.operations import lists
from services.crm.tables import objects
from services.kernel.checks import Check, Finding
from services.kernel.statements import Row
from services.kernel.world import World

ActivityKind = Literal["notes", "tasks", "calls", "meetings", "emails", "communications"]
_ON_RECORD = (
    "SELECT DISTINCT a.to_id FROM associations a JOIN objects o ON o.id = a.to_id "
    "WHERE a.from_id = ? AND a.to_kind = ? AND o.archived_at IS NULL ORDER BY a.to_id"
)


class ActivityReads(Check):
    """A new activity on the record has these values, whatever their spelling, and falls on one of these days."""

    record_id: int
    kind: ActivityKind
    values: dict[str, str] = Field(default={})
    # First and last day by property, both included: any time of the day will do.
    days: dict[str, tuple[str, str]] = Field(default={})
    words: tuple[str, ...] = ()
    # One of these must be named, where any are asked for; of none at all, none can be.
    refers_to: tuple[str, ...] | None = None
    # A to-do that is done already is none.
    still_open: bool = False

    def ask(self, world: World) -> Finding:
        new = made_by_agent(world, self.record_id, self.kind)
        fitting = [row for row in new if self._fits(row["properties"])]
        if fitting:
            return self.held(f"{self.kind} {fitting[0]['id']} on record {self.record_id} reads so")
        told = "do not read so" if new else "are none"
        return self.failed(f"the new {self.kind} on record {self.record_id} {told}")

    def _fits(self, held: dict[str, str]) -> bool:
        if self.still_open and held.get("hs_task_status") == "COMPLETED":
            return False
        text = fold(" ".join(held.values()))
        return (
            all(_is_same(held.get(name) or "", value) for name, value in self.values.items())
            and all(first <= (held.get(name) or "")[:10] <= last for name, (first, last) in self.days.items())
            and all(fold(word) in text for word in self.words)
            and (self.refers_to is None or any(fold(one) in text for one in self.refers_to))
        )


class NothingLogged(Check):
    """Nobody wrote a new activity of these kinds on any of these records."""

    record_ids: tuple[int, ...] = Field(min_length=1)
    kinds: tuple[ActivityKind, ...] = Field(min_length=1)

    def ask(self, world: World) -> Finding:
        on = [one for one in self.record_ids if any(made_by_agent(world, one, kind) for kind in self.kinds)]
        if not on:
            return self.held(f"nothing new is on records {list(self.record_ids)}")
        share = Fraction(len(self.record_ids) - len(on), len(self.record_ids))
        return self.partly(share, f"there are new {' or '.join(self.kinds)} on records {on}")


class ListHolds(Check):
    """A list of this name that does not change by itself holds these records; strangers on it cost their share."""

    name: str
    kind: str
    members: tuple[int, ...] = Field(min_length=1)

    def ask(self, world: World) -> Finding:
        found = [row for row in lists.find(world, "", None, None, self.kind) if self._is_meant(row)]
        if not found:
            return self.failed(f"no list of {self.kind} is called {self.name!r}")
        if found[0]["processing_type"] == "DYNAMIC":
            return self.failed(f"list {found[0]['id']} follows its filters: it will change by itself")
        held, wanted = {record for record, _ in lists.members(world, found[0])}, set(self.members)
        told = f"list {found[0]['id']} lacks {len(wanted - held)} and has {len(held - wanted)} too many"
        return self.partly(Fraction(len(held & wanted), len(held | wanted)), told)

    def _is_meant(self, row: Row) -> bool:
        return fold(" ".join(row["name"].split())) == fold(self.name)


def made_by_agent(world: World, record_id: int, kind: str) -> list[Row]:
    """Activities on a record that were not there when the episode began."""
    rows = [world.get(objects, found) for (found,) in world.rows(_ON_RECORD, (record_id, kind))]
    return [row for row in rows if row is not None and _is_new(world, row["id"])]


def _is_new(world: World, record_id: int) -> bool:
    written = world.history(objects, record_id)
    return bool(written) and written[0].before is None and written[0].actor != "house"


def _is_same(held: str, wanted: str) -> bool:
    """Numbers by their size, times by their moment, texts by their letters."""
    one, other = number(held.strip()), number(wanted.strip())
    if one is not None and other is not None:
        return one == other
    return fold(" ".join(held.split())) == fold(" ".join(wanted.split()))
