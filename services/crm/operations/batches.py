"""Many records in one request: up to a hundred inputs, some of which may fail alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.crm.errors import CrmRefusal, InvalidRequest, RecordNotFound, standard_error
from services.crm.kinds import Kind
from services.crm.operations import definitions, records, showing
from services.crm.operations.records import Tie
from services.crm.operations.showing import Shown, Wanted
from services.crm.operations.values import Given
from services.kernel.statements import Row
from services.kernel.world import World

MOST_INPUTS = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch."""

    results: list[Shown]
    errors: list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class NewRecord:
    """One input of a batch create."""

    properties: Given
    ties: tuple[Tie, ...] = ()
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """One input of a batch update or upsert."""

    id: str
    properties: Given
    id_property: str | None = None
    trace_id: str | None = None


def read(
    world: World, kind: Kind, ids: Sequence[str], id_property: str | None, wanted: Wanted, *, archived: bool
) -> Outcome:
    found: dict[int, Row] = {}
    missing: list[str] = []
    plain = not archived and id_property in (None, "", "hs_object_id")
    known = records.find_many(world, kind, ids) if plain else {}
    for record_id in dict.fromkeys(ids):
        row = known.get(record_id) if plain else records.find(world, kind, record_id, id_property, archived=archived)
        if row is None:
            missing.append(record_id)
        else:
            found[row["id"]] = row
    shown = showing.show(world, kind, list(found.values()), wanted)
    return Outcome(shown, [_not_found(kind, missing)] if missing else [])


def create(world: World, kind: Kind, inputs: Sequence[NewRecord]) -> Outcome:
    """With a trace id on every input each stands alone; without, the first that fails takes all along."""
    traces = [one.trace_id for one in inputs]
    alone = None not in traces and len(set(traces)) == len(traces)
    results: list[Shown] = []
    errors: list[Mapping[str, Any]] = []
    for one in inputs:
        try:
            row = records.create(world, kind, one.properties, one.ties)
        except CrmRefusal as refusal:
            if not alone:
                raise
            errors.append(standard_error(refusal, {"objectWriteTraceId": [str(one.trace_id)]}))
            continue
        results.append(_traced(showing.show_whole(world, kind, row), one.trace_id))
    return Outcome(results, errors)


def update(world: World, kind: Kind, inputs: Sequence[ChangedRecord]) -> Outcome:
    _refuse_twins(inputs)
    results: list[Shown] = []
    missing: list[str] = []
    for one in inputs:
        row = records.find(world, kind, one.id, one.id_property)
        if row is None:
            missing.append(one.id)
            continue
        changed = records.update(world, kind, row, one.properties)
        results.append(_traced(showing.show_whole(world, kind, changed), one.trace_id))
    return Outcome(results, [_not_found(kind, missing)] if missing else [])


def upsert(world: World, kind: Kind, inputs: Sequence[ChangedRecord]) -> Outcome:
    _refuse_twins(inputs)
    results: list[Shown] = []
    for one in inputs:
        row, new = _upserted(world, kind, one)
        results.append({**_traced(showing.show_whole(world, kind, row), one.trace_id), "new": new})
    return Outcome(results, [])


def archive(world: World, kind: Kind, ids: Sequence[str]) -> None:
    """What is not there need not be archived."""
    for record_id in dict.fromkeys(ids):
        row = records.find(world, kind, record_id)
        if row is not None:
            records.archive(world, row)


def _upserted(world: World, kind: Kind, one: ChangedRecord) -> tuple[Row, bool]:
    row = records.find(world, kind, one.id, one.id_property)
    if row is not None:
        return records.update(world, kind, row, one.properties), False
    if one.id_property in (None, "", "hs_object_id"):
        raise RecordNotFound(f"No {kind.singular} with ID {one.id} exists", context={"ids": [one.id]})
    assert one.id_property is not None, "the line above took it"
    definitions.require(world, kind.name, one.id_property)
    return records.create(world, kind, {one.id_property: one.id, **one.properties}), True


def _refuse_twins(inputs: Sequence[ChangedRecord]) -> None:
    seen: set[tuple[str, str]] = set()
    for one in inputs:
        key = (one.id_property or "", one.id)
        if key in seen:
            raise InvalidRequest(
                "Duplicate IDs found in batch input: [" + one.id + "]. IDs must be unique", context={"ids": [one.id]}
            )
        seen.add(key)


def _not_found(kind: Kind, ids: Sequence[str]) -> Mapping[str, Any]:
    refusal = RecordNotFound(
        f"Could not get some {kind.singular.upper()} objects, they may be deleted or not exist. "
        "Check that ids are valid."
    )
    return standard_error(refusal, {"ids": list(ids)})


def _traced(shown: Shown, trace_id: str | None) -> Shown:
    return shown if trace_id is None else {**shown, "objectWriteTraceId": trace_id}
