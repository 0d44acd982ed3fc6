"""Associations, v4 and v3, and the labels that v4 gives them."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Body, Depends, Query, Response

from services.crm.object_types import ObjectType
from services.crm.operations import association_types, associations, object_types
from services.crm.operations.associations import Spec, Target
from services.crm.operations.batches import BatchResult, run_each
from services.crm.routes.responses import PARTIAL_SUCCESS, REFUSALS, batch_response, no_content, page_response
from services.crm.rows import AssociationTypeRow, RecordRow
from services.crm.rows import Body as WireBody
from services.crm.schemas import associations as bodies
from services.crm.schemas.records import SpecIn
from services.crm.schemas.shared import IdIn, QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.operations import Operation, add_operations
from services.kernel.world import World

router = product_router(responses=REFUSALS, tags=["associations"])


@dataclass(frozen=True, slots=True)
class TypePair:
    """The object types that the two ends of an association have."""

    source: ObjectType
    target: ObjectType


def resolve_types(fromObjectType: str, toObjectType: str, world: CurrentWorld) -> TypePair:
    return TypePair(object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType))


@dataclass(frozen=True, slots=True)
class RecordPair:
    """Two records, and their object types."""

    types: TypePair
    source: RecordRow
    target: RecordRow


def find_records(objectType: str, objectId: str, toObjectType: str, toObjectId: str, world: CurrentWorld) -> RecordPair:
    types = resolve_types(objectType, toObjectType, world)
    source = associations.require_record(world, types.source, objectId)
    return RecordPair(types, source, associations.require_record(world, types.target, toObjectId))


PathTypes = Annotated[TypePair, Depends(resolve_types)]
PathRecords = Annotated[RecordPair, Depends(find_records)]


async def create(
    records: PathRecords,
    types: Annotated[list[SpecIn], Body(min_length=1, max_length=20, description="The types the tie is to have.")],
    world: CurrentWorld,
) -> Response:
    """Associate two records with the given types. Labels that the pair had and that are not named are taken away."""
    rows = _require_types(world, records.types, types)
    associations.replace(world, records.source, records.target, rows)
    return Json(_serialize_association(records, rows), 201)


async def create_default(records: PathRecords, world: CurrentWorld) -> Response:
    """Associate two records without a label, the usual way to say that they belong together."""
    return batch_response(world, BatchResult(_add_unlabelled(world, records)))


async def page(
    objectType: str,
    objectId: str,
    toObjectType: str,
    world: CurrentWorld,
    after: Annotated[QueryNumber, Query(ge=0, le=10**15)] = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=500)] = 500,
) -> Response:
    """List the records of one type that a record is associated with, and how."""
    types = resolve_types(objectType, toObjectType, world)
    source = associations.require_record(world, types.source, objectId)
    targets = associations.list_targets(world, source["id"], types.target.name, after)
    results = [_serialize_target(target) for target in targets[:limit]]
    return page_response(results, targets[limit - 1].to_id if len(targets) > limit else None)


async def archive(records: PathRecords, world: CurrentWorld) -> Response:
    """Remove every association between two records."""
    associations.remove(world, records.source, records.target)
    return no_content()


async def batch_create(types: PathTypes, body: bodies.TypedPairsIn, world: CurrentWorld) -> Response:
    """Associate many pairs of records, each with the given types. Pairs that fail are reported, the rest is kept."""

    def create_one(pair: bodies.TypedPairIn) -> WireBody:
        records = _find_pair(world, types, pair)
        rows = _require_types(world, types, pair.types)
        associations.add(world, records.source, records.target, rows)
        return _serialize_association(records, rows)

    return batch_response(world, run_each(body.inputs, create_one, _pair_context), 201)


async def batch_create_default(types: PathTypes, body: bodies.DefaultPairsIn, world: CurrentWorld) -> Response:
    """Associate many pairs of records without a label."""
    results: list[WireBody] = []
    for pair in body.inputs:
        results += _add_unlabelled(world, _find_pair(world, types, pair))
    return batch_response(world, BatchResult(results))


async def batch_read(types: PathTypes, body: bodies.ManyFromIn, world: CurrentWorld) -> Response:
    """Read what many records of one type are associated with among another type."""

    def read_one(source: bodies.FromIn) -> WireBody:
        row = associations.require_record(world, types.source, source.id)
        targets = associations.list_targets(world, row["id"], types.target.name, int(source.after or 0))
        return {"from": {"id": source.id}, "to": [_serialize_target(target) for target in targets]}

    return batch_response(world, run_each(body.inputs, read_one, _source_context))


async def batch_archive(types: PathTypes, body: bodies.UntiedIn, world: CurrentWorld) -> Response:
    """Remove every association between the given records."""
    for pairs in body.inputs:
        source = associations.require_record(world, types.source, pairs.from_.id)
        for target in pairs.to:
            associations.remove(world, source, associations.require_record(world, types.target, target.id))
    return no_content()


async def batch_archive_labels(types: PathTypes, body: bodies.TypedPairsIn, world: CurrentWorld) -> Response:
    """Take the given types away from the given pairs. Without its unlabelled type a pair is no longer associated."""
    for pair in body.inputs:
        records = _find_pair(world, types, pair)
        associations.remove_types(world, records.source, records.target, _require_types(world, types, pair.types))
    return no_content()


async def list_labels(types: PathTypes, world: CurrentWorld) -> Response:
    """List the types of association between two object types, with their ids and labels."""
    rows = association_types.list_between(world, types.source.name, types.target.name)
    return Json({"results": [_serialize_label(row) for row in rows]})


async def create_label(types: PathTypes, body: bodies.LabelIn, world: CurrentWorld) -> Response:
    """Create a label for associations between two object types, in both directions."""
    rows = association_types.create_label(world, types.source, types.target, body.name, body.label, body.inverseLabel)
    return Json({"results": [_serialize_label(row) for row in rows]})


async def update_label(types: PathTypes, body: bodies.LabelChangeIn, world: CurrentWorld) -> Response:
    """Rename a label that the account made."""
    association_types.rename_label(
        world, types.source, types.target, body.associationTypeId, body.label, body.inverseLabel
    )
    return no_content()


async def archive_label(types: PathTypes, associationTypeId: QueryNumber, world: CurrentWorld) -> Response:
    """Remove a label that the account made, from every pair that has it."""
    association_types.remove_label(world, types.source, types.target, associationTypeId)
    return no_content()


async def batch_create_named(types: PathTypes, body: bodies.NamedPairsIn, world: CurrentWorld) -> Response:
    """Associate many pairs of records by the name of the association type, such as contact_to_company."""

    def create_one(pair: bodies.NamedPairIn) -> WireBody:
        records = _find_pair(world, types, pair)
        row = association_types.require_named(world, types.source.name, types.target.name, pair.type)
        associations.add(world, records.source, records.target, [row])
        return {"from": {"id": pair.from_.id}, "to": {"id": pair.to.id}, "type": pair.type}

    return batch_response(world, run_each(body.inputs, create_one, _pair_context), 201)


async def batch_read_named(types: PathTypes, body: bodies.ManyIdsIn, world: CurrentWorld) -> Response:
    """Read what many records are associated with, by the names of the association types."""

    def read_one(source: IdIn) -> WireBody:
        row = associations.require_record(world, types.source, source.id)
        targets = associations.list_targets(world, row["id"], types.target.name)
        to = [{"id": str(target.to_id), "type": each.name} for target in targets for each in target.types]
        return {"from": {"id": source.id}, "to": to}

    return batch_response(world, run_each(body.inputs, read_one, _source_context))


async def batch_archive_named(types: PathTypes, body: bodies.NamedPairsIn, world: CurrentWorld) -> Response:
    """Take the named association types away from the given pairs."""
    for pair in body.inputs:
        records = _find_pair(world, types, pair)
        row = association_types.require_named(world, types.source.name, types.target.name, pair.type)
        associations.remove_types(world, records.source, records.target, [row])
    return no_content()


async def list_types(types: PathTypes, world: CurrentWorld) -> Response:
    """List the names of the association types between two object types."""
    rows = association_types.list_between(world, types.source.name, types.target.name)
    return Json({"results": [{"id": str(row["id"]), "name": row["name"]} for row in rows]})


def _find_pair(world: World, types: TypePair, pair: bodies.PairIn) -> RecordPair:
    source = associations.require_record(world, types.source, pair.from_.id)
    return RecordPair(types, source, associations.require_record(world, types.target, pair.to.id))


def _require_types(world: World, types: TypePair, specs: list[SpecIn]) -> list[AssociationTypeRow]:
    parsed = [Spec(spec.associationCategory, spec.associationTypeId) for spec in specs]
    return associations.require_types(world, types.source.name, types.target.name, parsed)


def _pair_context(pair: bodies.PairIn) -> dict[str, list[str]]:
    return {"fromObjectId": [pair.from_.id], "toObjectId": [pair.to.id]}


def _source_context(source: IdIn | bodies.FromIn) -> dict[str, list[str]]:
    return {"fromObjectId": [source.id]}


def _add_unlabelled(world: World, records: RecordPair) -> list[WireBody]:
    source, target = records.source, records.target
    forward = association_types.require_unlabelled(world, source["kind"], target["kind"])
    associations.add(world, source, target, [])
    inverse = association_types.require_unlabelled(world, target["kind"], source["kind"])
    return [_serialize_unlabelled(source, target, forward), _serialize_unlabelled(target, source, inverse)]


def _serialize_unlabelled(source: RecordRow, target: RecordRow, row: AssociationTypeRow) -> WireBody:
    spec = {"associationCategory": row["category"], "associationTypeId": row["id"]}
    return {"from": {"id": str(source["id"])}, "to": {"id": str(target["id"])}, "associationSpec": spec}


def _serialize_association(records: RecordPair, rows: list[AssociationTypeRow]) -> WireBody:
    return {
        "fromObjectTypeId": records.types.source.type_id,
        "fromObjectId": str(records.source["id"]),
        "toObjectTypeId": records.types.target.type_id,
        "toObjectId": str(records.target["id"]),
        "labels": [row["label"] for row in rows if row["label"] is not None],
    }


def _serialize_label(row: AssociationTypeRow) -> WireBody:
    return {"category": row["category"], "typeId": row["id"], "label": row["label"]}


def _serialize_target(target: Target) -> WireBody:
    types = [{"category": each.category, "typeId": each.id, "label": each.label} for each in target.types]
    return {"toObjectId": str(target.to_id), "associationTypes": types}


# fmt: off
add_operations(router, (
    Operation("crm.associations.create", "PUT",
              "/crm/v4/objects/{objectType}/{objectId}/associations/{toObjectType}/{toObjectId}", "Create",
              bodies.TiedOut, create, status=201),
    Operation("crm.associations.create_default", "PUT",
              "/crm/v4/objects/{objectType}/{objectId}/associations/default/{toObjectType}/{toObjectId}",
              "Create Default", bodies.DefaultTieBatch, create_default),
    Operation("crm.associations.list", "GET", "/crm/v4/objects/{objectType}/{objectId}/associations/{toObjectType}",
              "Page", bodies.EndPage, page),
    Operation("crm.associations.archive", "DELETE",
              "/crm/v4/objects/{objectType}/{objectId}/associations/{toObjectType}/{toObjectId}", "Archive", None,
              archive, status=204),
    Operation("crm.associations.batch_create", "POST",
              "/crm/v4/associations/{fromObjectType}/{toObjectType}/batch/create", "Batch Create", bodies.TiedBatch,
              batch_create, status=201, responses=PARTIAL_SUCCESS),
    Operation("crm.associations.batch_create_default", "POST",
              "/crm/v4/associations/{fromObjectType}/{toObjectType}/batch/associate/default", "Batch Create Default",
              bodies.DefaultTieBatch, batch_create_default),
    Operation("crm.associations.batch_read", "POST", "/crm/v4/associations/{fromObjectType}/{toObjectType}/batch/read",
              "Batch Read", bodies.EndsBatch, batch_read, responses=PARTIAL_SUCCESS),
    Operation("crm.associations.batch_archive", "POST",
              "/crm/v4/associations/{fromObjectType}/{toObjectType}/batch/archive", "Batch Archive", None,
              batch_archive, status=204),
    Operation("crm.associations.batch_archive_labels", "POST",
              "/crm/v4/associations/{fromObjectType}/{toObjectType}/batch/labels/archive", "Batch Archive Labels", None,
              batch_archive_labels, status=204),
    Operation("crm.association_labels.list", "GET", "/crm/v4/associations/{fromObjectType}/{toObjectType}/labels",
              "List Labels", bodies.LabelList, list_labels),
    Operation("crm.association_labels.create", "POST", "/crm/v4/associations/{fromObjectType}/{toObjectType}/labels",
              "Create Label", bodies.LabelList, create_label),
    Operation("crm.association_labels.update", "PUT", "/crm/v4/associations/{fromObjectType}/{toObjectType}/labels",
              "Update Label", None, update_label, status=204),
    Operation("crm.association_labels.archive", "DELETE",
              "/crm/v4/associations/{fromObjectType}/{toObjectType}/labels/{associationTypeId}", "Archive Label", None,
              archive_label, status=204),
    Operation("crm.associations_v3.batch_create", "POST",
              "/crm/v3/associations/{fromObjectType}/{toObjectType}/batch/create", "Batch Create Named",
              bodies.NamedTieBatch, batch_create_named, status=201, responses=PARTIAL_SUCCESS),
    Operation("crm.associations_v3.batch_read", "POST",
              "/crm/v3/associations/{fromObjectType}/{toObjectType}/batch/read", "Batch Read Named",
              bodies.NamedEndsBatch, batch_read_named, responses=PARTIAL_SUCCESS),
    Operation("crm.associations_v3.batch_archive", "POST",
              "/crm/v3/associations/{fromObjectType}/{toObjectType}/batch/archive", "Batch Archive Named", None,
              batch_archive_named, status=204),
    Operation("crm.association_types.list", "GET", "/crm/v3/associations/{fromObjectType}/{toObjectType}/types",
              "List Types", bodies.TypeNameList, list_types),
))
# fmt: on
