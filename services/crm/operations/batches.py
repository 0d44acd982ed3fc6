"""Many records in one request: up to a hundred inputs, some of which may fail alone."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from services.crm.errors import CrmRefusal, InvalidRequest, RecordNotFound, standard_error
from services.crm.object_types import ObjectType
from services.crm.operations import definitions, records, serialization
from services.crm.operations.records import NewAssociation
from services.crm.operations.serialization import RequestedFields
from services.crm.operations.values import PropertyChanges
from services.crm.rows import Body, RecordId, RecordRow
from services.kernel.world import World

Input = TypeVar("Input")


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The results of the inputs that succeeded, and the errors of those that did not."""

    results: list[Body] = field(default_factory=list)
    errors: list[Body] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NewRecord:
    """One input of a batch create."""

    properties: PropertyChanges
    associations: tuple[NewAssociation, ...] = ()
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """One input of a batch update or upsert."""

    id: str
    properties: PropertyChanges
    id_property: str | None = None
    trace_id: str | None = None


def run_each(
    inputs: Iterable[Input], run: Callable[[Input], Body], context: Callable[[Input], dict[str, list[str]]]
) -> BatchResult:
    """Runs every input alone: one that is refused is reported with its context, the others are kept."""
    batch = BatchResult()
    for each in inputs:
        try:
            batch.results.append(run(each))
        except CrmRefusal as refusal:
            batch.errors.append(standard_error(refusal, context(each)))
    return batch


def read(
    world: World,
    object_type: ObjectType,
    ids: Sequence[str],
    id_property: str | None,
    fields: RequestedFields,
    *,
    archived: bool,
) -> BatchResult:
    rows: dict[RecordId, RecordRow] = {}
    missing: list[str] = []
    is_by_id = not archived and id_property in (None, "", "hs_object_id")
    rows_by_id = records.find_many(world, object_type, ids) if is_by_id else {}
    for record_id in dict.fromkeys(ids):
        if is_by_id:
            row = rows_by_id.get(record_id)
        else:
            row = records.find(world, object_type, record_id, id_property, archived=archived)
        if row is None:
            missing.append(record_id)
        else:
            rows[row["id"]] = row
    results = serialization.serialize(world, object_type, list(rows.values()), fields)
    return BatchResult(results, _not_found_errors(object_type, missing))


def create(world: World, object_type: ObjectType, inputs: Sequence[NewRecord]) -> BatchResult:
    """If every input has a trace id of its own, each fails alone; otherwise the first failure fails the whole batch."""

    def create_one(new: NewRecord) -> Body:
        row = records.create(world, object_type, new.properties, new.associations)
        return _with_trace(serialization.serialize_whole(world, object_type, row), new.trace_id)

    traces = [new.trace_id for new in inputs]
    if None in traces or len(set(traces)) != len(traces):
        return BatchResult([create_one(new) for new in inputs])
    return run_each(inputs, create_one, lambda new: {"objectWriteTraceId": [str(new.trace_id)]})


def update(world: World, object_type: ObjectType, inputs: Sequence[ChangedRecord]) -> BatchResult:
    _refuse_duplicates(inputs)
    results: list[Body] = []
    missing: list[str] = []
    for change in inputs:
        row = records.find(world, object_type, change.id, change.id_property)
        if row is None:
            missing.append(change.id)
            continue
        changed = records.update(world, object_type, row, change.properties)
        results.append(_with_trace(serialization.serialize_whole(world, object_type, changed), change.trace_id))
    return BatchResult(results, _not_found_errors(object_type, missing))


def upsert(world: World, object_type: ObjectType, inputs: Sequence[ChangedRecord]) -> BatchResult:
    _refuse_duplicates(inputs)
    results: list[Body] = []
    for change in inputs:
        row, is_new = _upsert_one(world, object_type, change)
        body = _with_trace(serialization.serialize_whole(world, object_type, row), change.trace_id)
        results.append({**body, "new": is_new})
    return BatchResult(results)


def archive(world: World, object_type: ObjectType, ids: Sequence[str]) -> None:
    """Ids that do not exist are skipped."""
    for record_id in dict.fromkeys(ids):
        row = records.find(world, object_type, record_id)
        if row is not None:
            records.archive(world, row)


def _upsert_one(world: World, object_type: ObjectType, change: ChangedRecord) -> tuple[RecordRow, bool]:
    row = records.find(world, object_type, change.id, change.id_property)
    if row is not None:
        return records.update(world, object_type, row, change.properties), False
    if change.id_property is None or change.id_property in ("", "hs_object_id"):
        raise RecordNotFound(f"No {object_type.singular} with ID {change.id} exists", context={"ids": [change.id]})
    definitions.require(world, object_type.name, change.id_property)
    return records.create(world, object_type, {change.id_property: change.id, **change.properties}), True


def _refuse_duplicates(inputs: Sequence[ChangedRecord]) -> None:
    keys: set[tuple[str, str]] = set()
    for change in inputs:
        key = (change.id_property or "", change.id)
        if key in keys:
            raise InvalidRequest(
                f"Duplicate IDs found in batch input: [{change.id}]. IDs must be unique", context={"ids": [change.id]}
            )
        keys.add(key)


def _not_found_errors(object_type: ObjectType, ids: Sequence[str]) -> list[Body]:
    if not ids:
        return []
    refusal = RecordNotFound(
        f"Could not get some {object_type.singular.upper()} objects, they may be deleted or not exist. "
        "Check that ids are valid."
    )
    return [standard_error(refusal, {"ids": list(ids)})]


def _with_trace(body: Body, trace_id: str | None) -> Body:
    return body if trace_id is None else {**body, "objectWriteTraceId": trace_id}
