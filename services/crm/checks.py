"""The checks that a task can make on the CRM; the texts of their findings are part of recorded verdicts."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from services.crm.activity_checks import ActivityMatches, HasActivity, HasOpenTask, NothingLogged, is_new
from services.crm.normalization import is_phone_property, is_same_phone, normalize
from services.crm.object_types import BY_NAME
from services.crm.operations import lists, object_types, search
from services.crm.operations.search import Filter
from services.crm.rows import ListRow, ObjectTypeName, PropertyValues, RecordId, RecordRow
from services.crm.search_index import fold
from services.crm.tables import merges, objects, stage_key, stages
from services.kernel.changes import SYSTEM, NetChange, net
from services.kernel.checks import Check, Finding, checks_by_name
from services.kernel.documents import Binder
from services.kernel.world import World

_ASSOCIATION_TYPES = "SELECT type_id FROM associations WHERE from_id = ? AND to_id = ? ORDER BY type_id"


class RecordCheck(Check):
    """A claim about one record that must be live."""

    record_id: int

    def find(self, world: World) -> RecordRow | None:
        row = world.get(objects, RecordId(self.record_id))
        return None if row is None or row["archived_at"] is not None else row

    def fail_as_gone(self) -> Finding:
        return self.fails(f"record {self.record_id} is gone")

    def score_values(
        self, properties: PropertyValues, wrong_names: Sequence[str], expected: Mapping[str, Any]
    ) -> Finding:
        """Each right value earns its share."""
        wrong = {name: properties.get(name) for name in wrong_names}
        share = Fraction(len(expected) - len(wrong), len(expected))
        return self.holds_partly(share, f"record {self.record_id} has {wrong}, not {expected}")


class RecordHasValues(RecordCheck):
    """The record is live and its properties have exactly these values; an empty text stands for no value."""

    values: dict[str, str]

    def run(self, world: World) -> Finding:
        row = self.find(world)
        if row is None:
            return self.fail_as_gone()
        properties = row["properties"]
        wrong = [name for name, value in self.values.items() if (properties.get(name) or "") != value]
        if not wrong:
            return self.holds(f"record {self.record_id} has {self.values}")
        return self.score_values(properties, wrong, self.values)


class RecordMatches(RecordCheck):
    """The record is live and each property has one of its accepted values, however it is spelt.

    An empty text stands for no value.
    """

    accepted: dict[str, tuple[str, ...]] = Field(min_length=1)
    # "MEYER" is not "Meyer" where the capitals are what is wrong.
    case_sensitive: bool = False
    # Of the countries that a phone number without a calling code may be meant in.
    calling_codes: tuple[str, ...] = ()

    def run(self, world: World) -> Finding:
        row = self.find(world)
        if row is None:
            return self.fail_as_gone()
        properties = row["properties"]
        wrong = [name for name in self.accepted if not self._is_accepted(name, properties.get(name) or "")]
        if not wrong:
            return self.holds(f"record {self.record_id} has {self._describe_accepted()}")
        return self.score_values(properties, wrong, self.accepted)

    def _describe_accepted(self) -> str:
        return ", ".join(
            f"{name} {' or '.join(value or 'no value' for value in values)}" for name, values in self.accepted.items()
        )

    def _is_accepted(self, name: str, value: str) -> bool:
        # Where capitals matter, spaces at the ends do too.
        if self.case_sensitive and value != value.strip():
            return False
        if is_phone_property(name):
            return any(is_same_phone(value, each, self.calling_codes) for each in self.accepted[name])
        normal = normalize(name, value, case_sensitive=self.case_sensitive)
        return any(normal == normalize(name, each, case_sensitive=self.case_sensitive) for each in self.accepted[name])


class RecordExists(Check):
    """At least one live record of a type has these values; with `new`, one that was created in the episode."""

    kind: str
    values: dict[str, str] = Field(min_length=1)
    associated_with: tuple[int, ...] = ()
    new: bool = False

    def run(self, world: World) -> Finding:
        matching = [row for row in _find_by_values(world, self.kind, self.values) if self._matches(world, row)]
        what = f"{BY_NAME[self.kind].singular if self.kind in BY_NAME else self.kind} with {self.values}"
        if matching:
            return self.holds(f"record {matching[0]['id']} is a {what}")
        return self.fails(f"there is no {'new ' if self.new else ''}{what}")

    def _matches(self, world: World, row: RecordRow) -> bool:
        if self.new and not is_new(world, row["id"]):
            return False
        return all(world.rows(_ASSOCIATION_TYPES, (row["id"], other_id)) for other_id in self.associated_with)


class IsAssociated(Check):
    """Two records are associated, by a type if one is named; or they are not, if `expected` is false."""

    from_id: int
    to_id: int
    type_id: int | None = None
    expected: bool = True

    def run(self, world: World) -> Finding:
        types = [type_id for (type_id,) in world.rows(_ASSOCIATION_TYPES, (self.from_id, self.to_id))]
        is_associated = bool(types) if self.type_id is None else self.type_id in types
        because = f"{self.from_id} and {self.to_id} are {'tied by ' + str(types) if types else 'not tied'}"
        return self.holds(because) if is_associated is self.expected else self.fails(because)


class MovedBetween(Check):
    """A record is associated with one other record and no longer with another."""

    record_id: int
    to_id: int
    from_id: int

    def run(self, world: World) -> Finding:
        ends = (self.to_id, self.from_id)
        tied = [other for other in ends if world.rows(_ASSOCIATION_TYPES, (self.record_id, other))]
        because = f"{self.record_id} is tied to {' and '.join(map(str, tied)) or 'neither'}"
        return self.holds(because) if tied == [self.to_id] else self.fails(because)


class IsArchived(Check):
    """The record is in the recycling bin; or it is not, if `expected` is false."""

    record_id: int
    expected: bool = True

    def run(self, world: World) -> Finding:
        row = world.get(objects, RecordId(self.record_id))
        if row is None:
            return self.fails(f"record {self.record_id} does not exist at all")
        is_archived = row["archived_at"] is not None
        because = f"record {self.record_id} is {'archived' if is_archived else 'live'}"
        return self.holds(because) if is_archived is self.expected else self.fails(because)


class IsForgotten(Check):
    """The record was deleted permanently, not merely archived."""

    record_id: int

    def run(self, world: World) -> Finding:
        if world.get(objects, RecordId(self.record_id)) is None:
            return self.holds(f"nothing of record {self.record_id} is left")
        return self.fails(f"record {self.record_id} is still there")


class MergedInto(Check):
    """The loser was merged into the winner; a merge in the other direction earns a part."""

    loser_id: int
    winner_id: int
    reversed_score: str = "0"

    def run(self, world: World) -> Finding:
        if _find_winner(world, self.loser_id) == self.winner_id:
            return self.holds(f"{self.loser_id} was merged into {self.winner_id}")
        if _find_winner(world, self.winner_id) == self.loser_id:
            return self.holds_partly(
                Fraction(self.reversed_score), f"{self.winner_id} was merged into {self.loser_id}: the wrong one stayed"
            )
        return self.fails(f"{self.loser_id} was not merged into {self.winner_id}")


class InStage(RecordCheck):
    """The record is in this stage of its pipeline; the pipeline matters only if it is named."""

    stage: str
    pipeline: str | None = None

    def run(self, world: World) -> Finding:
        row = self.find(world)
        if row is None:
            return self.fail_as_gone()
        object_type = BY_NAME.get(row["kind"])
        if object_type is None or object_type.pipeline_properties is None:
            return self.fails(f"record {self.record_id} is a {row['kind']} and stands in no stage")
        pipeline, stage = (row["properties"].get(name) for name in object_type.pipeline_properties)
        because = f"record {self.record_id} stands in {_stage_label(world, row['kind'], stage)} of pipeline {pipeline}"
        if stage == self.stage and self.pipeline in (None, pipeline):
            return self.holds(because)
        return self.fails(f"{because}, not in {self.stage}")


class Untouched(Check):
    """These records are exactly as they were when the episode began."""

    record_ids: tuple[int, ...] = Field(min_length=1)

    def run(self, world: World) -> Finding:
        touched = {
            change.row_id
            for change in _net_changes(world)
            if change.table == objects.name and change.row_id in self.record_ids
        }
        if not touched:
            return self.holds(f"records {list(self.record_ids)} are untouched")
        share = Fraction(len(self.record_ids) - len(touched), len(self.record_ids))
        return self.holds_partly(share, f"records {sorted(touched, key=str)} were changed")


class CountIs(Check):
    """So many live records of a type meet these conditions, as a search would find them."""

    kind: str
    conditions: tuple[dict[str, Any], ...] = ()
    count: int = Field(ge=0)
    comparison: Literal["exactly", "at least", "at most"] = "exactly"

    def run(self, world: World) -> Finding:
        conditions = [_parse_condition(condition) for condition in self.conditions]
        count = len(_find_ids(world, self.kind, [conditions] if conditions else []))
        because = f"{count} {self.kind} meet the conditions, {self.comparison} {self.count} were asked for"
        is_right = {
            "exactly": count == self.count,
            "at least": count >= self.count,
            "at most": count <= self.count,
        }[self.comparison]
        return self.holds(because) if is_right else self.fails(because)


class AllowedChange(BaseModel):
    """A place where a change is expected: one row or any row of a type, and the properties that may change."""

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
        return self.properties is None or _list_changed_names(change) <= set(self.properties)


class NothingElseChanged(Check):
    """Nothing changed but what is allowed; each other row costs its share."""

    allowed: tuple[AllowedChange, ...] = ()

    def run(self, world: World) -> Finding:
        changes = _net_changes(world)
        others = [change for change in changes if not any(allowed.covers(change) for allowed in self.allowed)]
        if not others:
            return self.holds("nothing else changed")
        listed = ", ".join(f"{change.table} {change.row_id}" for change in others[:5])
        return self.holds_partly(Fraction(len(changes) - len(others), len(changes)), f"also changed: {listed}")


class ListHolds(Check):
    """A list of this name that is not DYNAMIC has these members; each missing or additional one costs its share."""

    name: str
    kind: str
    members: tuple[int, ...] = Field(min_length=1)

    def run(self, world: World) -> Finding:
        rows = [row for row in lists.search(world, "", None, None, self.kind) if self._has_name(row)]
        if not rows:
            return self.fails(f"no list of {self.kind} is called {self.name!r}")
        if rows[0]["processing_type"] == "DYNAMIC":
            return self.fails(f"list {rows[0]['id']} follows its filters: it will change by itself")
        present = {int(member.record_id) for member in lists.list_members(world, rows[0])}
        wanted = set(self.members)
        because = f"list {rows[0]['id']} lacks {len(wanted - present)} and has {len(present - wanted)} too many"
        return self.holds_partly(Fraction(len(present & wanted), len(present | wanted)), because)

    def _has_name(self, row: ListRow) -> bool:
        return fold(" ".join(row["name"].split())) == fold(self.name)


def _find_by_values(world: World, kind: str, values: Mapping[str, str]) -> list[RecordRow]:
    group = [Filter(name, "EQ", value) if value else Filter(name, "NOT_HAS_PROPERTY") for name, value in values.items()]
    rows = [world.get(objects, record_id) for record_id in _find_ids(world, kind, [group])]
    return [row for row in rows if row is not None]


def _find_ids(world: World, kind: str, groups: Sequence[Sequence[Filter]]) -> list[RecordId]:
    object_type = object_types.resolve(world, kind)
    binder = Binder(kind=object_type.name)
    where = search.select(world, object_type, binder, groups).where
    rows = world.rows(f"SELECT o.id FROM objects o WHERE {where} ORDER BY o.id", binder.parameters)  # noqa: S608 - bound
    return [record_id for (record_id,) in rows]


def _find_winner(world: World, record_id: int) -> RecordId | None:
    """Returns the record that a record was merged into, by several merges in turn if there were several."""
    winner_id = None
    merge = world.get(merges, RecordId(record_id))
    while merge is not None:
        winner_id = merge["winner_id"]
        merge = world.get(merges, winner_id)
    return winner_id


def _net_changes(world: World) -> list[NetChange]:
    """Returns what changed since the episode began; its setup is not a change."""
    return net([change for change in world.changes() if change.actor != SYSTEM])


def _list_changed_names(change: NetChange) -> set[str]:
    before, after = (
        {} if image is None else {**image, **image.get("properties", {})} for image in (change.before, change.after)
    )
    names = {*before, *after} - {"properties", "updated_at"}
    return {name for name in names if before.get(name) != after.get(name)}


def _stage_label(world: World, type_name: ObjectTypeName, stage_id: str | None) -> str:
    row = None if stage_id is None else world.get(stages, stage_key(type_name, stage_id))
    return f"{stage_id} ({row['label']})" if row is not None else str(stage_id)


def _parse_condition(condition: Mapping[str, Any]) -> Filter:
    values: Sequence[str] | None = condition.get("values")
    return Filter(
        condition["propertyName"],
        condition["operator"],
        condition.get("value"),
        None if values is None else tuple(values),
        condition.get("highValue"),
    )


checks = checks_by_name(
    RecordExists,
    RecordHasValues,
    IsAssociated,
    MovedBetween,
    IsArchived,
    IsForgotten,
    MergedInto,
    InStage,
    Untouched,
    CountIs,
    HasActivity,
    NothingElseChanged,
    RecordMatches,
    HasOpenTask,
    ActivityMatches,
    NothingLogged,
    ListHolds,
)
