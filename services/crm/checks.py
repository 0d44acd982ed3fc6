"""What a task can ask of the CRM."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from services.crm.kinds import BY_NAME
from services.crm.logged import ActivityReads, ListHolds, NothingLogged
from services.crm.meaning import HasOpenTask, RecordReads
from services.crm.operations.conditions import Binder
from services.crm.operations.object_types import resolve
from services.crm.operations.search import Filter, matching
from services.crm.tables import merges, objects, stages
from services.kernel.changes import NetChange, net
from services.kernel.checks import Check, Finding, named
from services.kernel.statements import Row
from services.kernel.world import World

_TIED = "SELECT type_id FROM associations WHERE from_id = ? AND to_id = ? ORDER BY type_id"


class RecordCheck(Check):
    """A claim about one record that must be there."""

    record_id: int

    def find(self, world: World) -> Row | None:
        row = world.get(objects, self.record_id)
        return None if row is None or row["archived_at"] is not None else row

    def gone(self) -> Finding:
        return self.failed(f"record {self.record_id} is gone")


class RecordHasValues(RecordCheck):
    """The record is there and its properties read so; an empty text asks for no value."""

    values: dict[str, str]

    def ask(self, world: World) -> Finding:
        row = self.find(world)
        if row is None:
            return self.gone()
        held = row["properties"]
        wrong = {name: held.get(name) for name, value in self.values.items() if (held.get(name) or "") != value}
        if not wrong:
            return self.held(f"record {self.record_id} has {self.values}")
        right = Fraction(len(self.values) - len(wrong), len(self.values))
        return self.partly(right, f"record {self.record_id} has {wrong}, not {self.values}")


class RecordExists(Check):
    """At least one live record of a kind, made since the world began if `new`, has these values."""

    kind: str
    values: dict[str, str] = Field(min_length=1)
    associated_with: tuple[int, ...] = ()
    new: bool = False

    def ask(self, world: World) -> Finding:
        found = [row for row in _with_values(world, self.kind, self.values) if self._is_meant(world, row)]
        what = f"{BY_NAME[self.kind].singular if self.kind in BY_NAME else self.kind} with {self.values}"
        if found:
            return self.held(f"record {found[0]['id']} is a {what}")
        return self.failed(f"there is no {'new ' if self.new else ''}{what}")

    def _is_meant(self, world: World, row: Row) -> bool:
        if self.new and not _created_by_agent(world, row["id"]):
            return False
        return all(world.rows(_TIED, (row["id"], other)) for other in self.associated_with)


class IsAssociated(Check):
    """Two records are tied, with a type if one is named; or they are not, if `expected` is false."""

    from_id: int
    to_id: int
    type_id: int | None = None
    expected: bool = True

    def ask(self, world: World) -> Finding:
        types = [found[0] for found in world.rows(_TIED, (self.from_id, self.to_id))]
        tied = bool(types) if self.type_id is None else self.type_id in types
        told = f"{self.from_id} and {self.to_id} are {'tied by ' + str(types) if types else 'not tied'}"
        return self.held(told) if tied is self.expected else self.failed(told)


class IsArchived(Check):
    """The record is in the recycling bin; or it is not, if `expected` is false."""

    record_id: int
    expected: bool = True

    def ask(self, world: World) -> Finding:
        row = world.get(objects, self.record_id)
        if row is None:
            return self.failed(f"record {self.record_id} does not exist at all")
        archived = row["archived_at"] is not None
        told = f"record {self.record_id} is {'archived' if archived else 'live'}"
        return self.held(told) if archived is self.expected else self.failed(told)


class IsForgotten(Check):
    """Nothing of the record is left: deleted for good, not merely archived."""

    record_id: int

    def ask(self, world: World) -> Finding:
        if world.get(objects, self.record_id) is None:
            return self.held(f"nothing of record {self.record_id} is left")
        return self.failed(f"record {self.record_id} is still there")


class MergedInto(Check):
    """The loser answers as the winner; merging the other way round earns a part."""

    loser_id: int
    winner_id: int
    reversed_score: str = "0"

    def ask(self, world: World) -> Finding:
        if self._winner_of(world, self.loser_id) == self.winner_id:
            return self.held(f"{self.loser_id} was merged into {self.winner_id}")
        if self._winner_of(world, self.winner_id) == self.loser_id:
            return self.partly(
                Fraction(self.reversed_score), f"{self.winner_id} was merged into {self.loser_id}: the wrong one stayed"
            )
        return self.failed(f"{self.loser_id} was not merged into {self.winner_id}")

    def _winner_of(self, world: World, record_id: int) -> int | None:
        merged = world.get(merges, record_id)
        last = None
        while merged is not None:
            last = merged["winner_id"]
            merged = world.get(merges, last)
        return last


class InStage(RecordCheck):
    """The record stands in this stage of its pipeline; the pipeline matters only if it is named."""

    stage: str
    pipeline: str | None = None

    def ask(self, world: World) -> Finding:
        row = self.find(world)
        if row is None:
            return self.gone()
        kind = BY_NAME.get(row["kind"])
        if kind is None or kind.pipeline is None:
            return self.failed(f"record {self.record_id} is a {row['kind']} and stands in no stage")
        pipeline, stage = (row["properties"].get(name) for name in kind.pipeline)
        told = f"record {self.record_id} stands in {_stage_label(world, row['kind'], stage)} of pipeline {pipeline}"
        right = stage == self.stage and self.pipeline in (None, pipeline)
        return self.held(told) if right else self.failed(f"{told}, not in {self.stage}")


class Untouched(Check):
    """These records are exactly as the episode found them."""

    record_ids: tuple[int, ...] = Field(min_length=1)

    def ask(self, world: World) -> Finding:
        touched = {
            change.row_id
            for change in _net_changes(world)
            if change.table == objects.name and change.row_id in self.record_ids
        }
        if not touched:
            return self.held(f"records {list(self.record_ids)} are untouched")
        share = Fraction(len(self.record_ids) - len(touched), len(self.record_ids))
        return self.partly(share, f"records {sorted(touched, key=str)} were changed")


class CountIs(Check):
    """So many live records of a kind meet these conditions, as a search would find them."""

    kind: str
    conditions: tuple[dict[str, Any], ...] = ()
    count: int = Field(ge=0)
    comparison: Literal["exactly", "at least", "at most"] = "exactly"

    def ask(self, world: World) -> Finding:
        found = self._count(world)
        told = f"{found} {self.kind} meet the conditions, {self.comparison} {self.count} were asked for"
        right = {
            "exactly": found == self.count,
            "at least": found >= self.count,
            "at most": found <= self.count,
        }[self.comparison]
        return self.held(told) if right else self.failed(told)

    def _count(self, world: World) -> int:
        kind = resolve(world, self.kind)
        binder = Binder(kind=kind.name)
        group = [_filter(one) for one in self.conditions]
        where = matching(world, kind, binder, [group] if group else [], None)
        found: int = world.rows(f"SELECT count(*) FROM objects o WHERE {where}", binder.parameters)[0][0]  # noqa: S608 - bound
        return found


class AllowedChange(BaseModel):
    """One place where a change is expected: a row or any row of a kind, and the properties it may touch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: str = "objects"
    row_id: int | str | None = None
    properties: tuple[str, ...] | None = None
    kind: str | None = None

    def covers(self, change: NetChange) -> bool:
        if change.table != self.table or (self.row_id is not None and change.row_id != self.row_id):
            return False
        image = change.after or change.before or {}
        if self.kind is not None and image.get("kind", image.get("from_kind")) != self.kind:
            return False
        return self.properties is None or _touched(change) <= set(self.properties)


class NothingElseChanged(Check):
    """Nothing changed but what is allowed; each stray row costs its share."""

    allowed: tuple[AllowedChange, ...] = ()

    def ask(self, world: World) -> Finding:
        changes = _net_changes(world)
        stray = [change for change in changes if not any(one.covers(change) for one in self.allowed)]
        if not stray:
            return self.held("nothing else changed")
        told = ", ".join(f"{change.table} {change.row_id}" for change in stray[:5])
        return self.partly(Fraction(len(changes) - len(stray), len(changes)), f"also changed: {told}")


class HasActivity(Check):
    """A new note, task, call … is tied to this record, and says these words."""

    record_id: int
    kind: Literal["notes", "tasks", "calls", "meetings", "emails", "communications"]
    words: tuple[str, ...] = ()
    values: dict[str, str] = Field(default={})

    def ask(self, world: World) -> Finding:
        ids = [
            found[0]
            for found in world.rows(
                "SELECT DISTINCT to_id FROM associations WHERE from_id = ? AND to_kind = ? ORDER BY to_id",
                (self.record_id, self.kind),
            )
        ]
        new = [row for one in ids if (row := world.get(objects, one)) is not None and _created_by_agent(world, one)]
        fitting = [row for row in new if row["archived_at"] is None and self._fits(row)]
        if fitting:
            return self.held(f"{self.kind} {fitting[0]['id']} on record {self.record_id} says so")
        if new:
            return self.failed(f"the new {self.kind} on record {self.record_id} do not say so")
        return self.failed(f"there are no new {self.kind} on record {self.record_id}")

    def _fits(self, row: Row) -> bool:
        text = " ".join(str(value) for value in row["properties"].values()).casefold()
        held = row["properties"]
        return all(word.casefold() in text for word in self.words) and all(
            held.get(name) == value for name, value in self.values.items()
        )


def _with_values(world: World, kind_name: str, values: Mapping[str, str]) -> list[Row]:
    kind = resolve(world, kind_name)
    binder = Binder(kind=kind.name)
    group = [Filter(name, "EQ", value) if value else Filter(name, "NOT_HAS_PROPERTY") for name, value in values.items()]
    where = matching(world, kind, binder, [group], None)
    ids = world.rows(f"SELECT o.id FROM objects o WHERE {where} ORDER BY o.id", binder.parameters)  # noqa: S608 - bound
    return [row for (found,) in ids if (row := world.get(objects, found)) is not None]


def _created_by_agent(world: World, record_id: int) -> bool:
    written = world.history(objects, record_id)
    return bool(written) and written[0].before is None and written[0].actor != "house"


def _net_changes(world: World) -> list[NetChange]:
    """What the agent and time changed; what was planted before them is how they found it."""
    return net([change for change in world.changes() if change.actor != "house"])


def _touched(change: NetChange) -> set[str]:
    before, after = (
        {} if image is None else {**image, **image.get("properties", {})} for image in (change.before, change.after)
    )
    names = {*before, *after} - {"properties", "updated_at"}
    return {name for name in names if before.get(name) != after.get(name)}


def _stage_label(world: World, kind: str, stage_id: str | None) -> str:
    row = None if stage_id is None else world.get(stages, f"{kind}.{stage_id}")
    return f"{stage_id} ({row['label']})" if row is not None else str(stage_id)


def _filter(one: Mapping[str, Any]) -> Filter:
    values: Sequence[str] | None = one.get("values")
    return Filter(
        one["propertyName"],
        one["operator"],
        one.get("value"),
        None if values is None else tuple(values),
        one.get("highValue"),
    )


checks = named(
    RecordExists,
    RecordHasValues,
    IsAssociated,
    IsArchived,
    IsForgotten,
    MergedInto,
    InStage,
    Untouched,
    CountIs,
    HasActivity,
    NothingElseChanged,
    RecordReads,
    HasOpenTask,
    ActivityReads,
    NothingLogged,
    ListHolds,
)
