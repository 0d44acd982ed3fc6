"""Associations, v4 and v3, and the labels that v4 gives them."""

from typing import Annotated, Any

from fastapi import Body, Query, Response

from services.crm.errors import CrmRefusal, standard_error
from services.crm.kinds import Kind
from services.crm.operations import association_types, associations, object_types
from services.crm.operations.associations import End, Spec
from services.crm.routes.answers import REFUSALS, batch, nothing, paged
from services.crm.schemas import associations as bodies
from services.crm.schemas.records import SpecIn
from services.crm.schemas.shared import QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.statements import Row
from services.kernel.world import World

router = product_router(responses=REFUSALS, tags=["associations"])
_ONE = "/crm/v4/objects/{objectType}/{objectId}/associations"
_V4 = "/crm/v4/associations/{fromObjectType}/{toObjectType}"
_V3 = "/crm/v3/associations/{fromObjectType}/{toObjectType}"
_PARTLY: dict[int | str, dict[str, Any]] = {207: {"description": "Done in part; `errors` says what was not."}}


@router.put(
    _ONE + "/{toObjectType}/{toObjectId}",
    status_code=201,
    operation_id="crm.associations.create",
    response_model=bodies.TiedOut,
)
async def create(
    objectType: str,
    objectId: str,
    toObjectType: str,
    toObjectId: str,
    types: Annotated[list[SpecIn], Body(min_length=1, max_length=20, description="The types the tie is to have.")],
    world: CurrentWorld,
) -> Response:
    """Associate two records with the given types. Labels that the pair had and that are not named are taken away."""
    one, other = object_types.resolve(world, objectType), object_types.resolve(world, toObjectType)
    here, there = associations.live(world, one, objectId), associations.live(world, other, toObjectId)
    found = associations.specified(world, one.name, other.name, _specs(types))
    associations.replace(world, here, there, found)
    return Json(_tied(one, other, here, there, found), 201)


@router.put(
    _ONE + "/default/{toObjectType}/{toObjectId}",
    operation_id="crm.associations.create_default",
    response_model=bodies.DefaultTieBatch,
)
async def create_default(
    objectType: str, objectId: str, toObjectType: str, toObjectId: str, world: CurrentWorld
) -> Response:
    """Associate two records without a label, the usual way to say that they belong together."""
    one, other = object_types.resolve(world, objectType), object_types.resolve(world, toObjectType)
    here, there = associations.live(world, one, objectId), associations.live(world, other, toObjectId)
    return batch(world, _tie_plainly(world, here, there))


@router.get(_ONE + "/{toObjectType}", operation_id="crm.associations.list", response_model=bodies.EndPage)
async def page(
    objectType: str,
    objectId: str,
    toObjectType: str,
    world: CurrentWorld,
    after: Annotated[QueryNumber, Query(ge=0, le=10**15)] = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=500)] = 500,
) -> Response:
    """List the records of one type that a record is associated with, and how."""
    one, other = object_types.resolve(world, objectType), object_types.resolve(world, toObjectType)
    here = associations.live(world, one, objectId)
    found = associations.ends(world, [here["id"]], other.name, after).get(here["id"], [])
    shown = [_end(end) for end in found[:limit]]
    return paged(shown, found[limit - 1].to_id if len(found) > limit else None)


@router.delete(_ONE + "/{toObjectType}/{toObjectId}", status_code=204, operation_id="crm.associations.archive")
async def archive(objectType: str, objectId: str, toObjectType: str, toObjectId: str, world: CurrentWorld) -> Response:
    """Remove every association between two records."""
    one, other = object_types.resolve(world, objectType), object_types.resolve(world, toObjectType)
    here, there = associations.live(world, one, objectId), associations.live(world, other, toObjectId)
    associations.untie(world, here["id"], other, there["id"])
    return nothing()


@router.post(
    _V4 + "/batch/create",
    status_code=201,
    operation_id="crm.associations.batch_create",
    response_model=bodies.TiedBatch,
    responses=_PARTLY,
)
async def batch_create(
    fromObjectType: str, toObjectType: str, body: bodies.TypedPairsIn, world: CurrentWorld
) -> Response:
    """Associate many pairs of records, each with the given types. Pairs that fail are reported, the rest is kept."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    results: list[Any] = []
    errors: list[Any] = []
    for given in body.inputs:
        try:
            here, there = associations.live(world, one, given.from_.id), associations.live(world, other, given.to.id)
            found = associations.specified(world, one.name, other.name, _specs(given.types))
            associations.tie(world, here, there, found)
            results.append(_tied(one, other, here, there, found))
        except CrmRefusal as refusal:
            errors.append(standard_error(refusal, {"fromObjectId": [given.from_.id], "toObjectId": [given.to.id]}))
    return batch(world, results, errors, 201)


@router.post(
    _V4 + "/batch/associate/default",
    operation_id="crm.associations.batch_create_default",
    response_model=bodies.DefaultTieBatch,
)
async def batch_create_default(
    fromObjectType: str, toObjectType: str, body: bodies.DefaultPairsIn, world: CurrentWorld
) -> Response:
    """Associate many pairs of records without a label."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    results: list[Row] = []
    for given in body.inputs:
        here, there = associations.live(world, one, given.from_.id), associations.live(world, other, given.to.id)
        results += _tie_plainly(world, here, there)
    return batch(world, results)


@router.post(
    _V4 + "/batch/read", operation_id="crm.associations.batch_read", response_model=bodies.EndsBatch, responses=_PARTLY
)
async def batch_read(fromObjectType: str, toObjectType: str, body: bodies.ManyFromIn, world: CurrentWorld) -> Response:
    """Read what many records of one type are associated with among another type."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    results: list[Any] = []
    errors: list[Any] = []
    for given in body.inputs:
        try:
            here = associations.live(world, one, given.id)
        except CrmRefusal as refusal:
            errors.append(standard_error(refusal, {"fromObjectId": [given.id]}))
            continue
        found = associations.ends(world, [here["id"]], other.name, int(given.after or 0)).get(here["id"], [])
        results.append({"from": {"id": given.id}, "to": [_end(end) for end in found]})
    return batch(world, results, errors)


@router.post(_V4 + "/batch/archive", status_code=204, operation_id="crm.associations.batch_archive")
async def batch_archive(fromObjectType: str, toObjectType: str, body: bodies.UntiedIn, world: CurrentWorld) -> Response:
    """Remove every association between the given records."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    for given in body.inputs:
        here = associations.live(world, one, given.from_.id)
        for end in given.to:
            associations.untie(world, here["id"], other, associations.live(world, other, end.id)["id"])
    return nothing()


@router.post(_V4 + "/batch/labels/archive", status_code=204, operation_id="crm.associations.batch_archive_labels")
async def batch_archive_labels(
    fromObjectType: str, toObjectType: str, body: bodies.TypedPairsIn, world: CurrentWorld
) -> Response:
    """Take the given types away from the given pairs. Without its unlabelled type a pair is no longer associated."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    for given in body.inputs:
        here, there = associations.live(world, one, given.from_.id), associations.live(world, other, given.to.id)
        found = associations.specified(world, one.name, other.name, _specs(given.types))
        associations.untie_types(world, here["id"], other, there["id"], found)
    return nothing()


@router.get(_V4 + "/labels", operation_id="crm.association_labels.list", response_model=bodies.LabelList)
async def list_labels(fromObjectType: str, toObjectType: str, world: CurrentWorld) -> Response:
    """List the types of association between two object types, with their ids and labels."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    return Json({"results": [_label(row) for row in association_types.between(world, one.name, other.name)]})


@router.post(_V4 + "/labels", operation_id="crm.association_labels.create", response_model=bodies.LabelList)
async def create_label(fromObjectType: str, toObjectType: str, body: bodies.LabelIn, world: CurrentWorld) -> Response:
    """Create a label for associations between two object types, in both directions."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    rows = association_types.create(world, one, other, body.name, body.label, body.inverseLabel)
    return Json({"results": [_label(row) for row in rows]})


@router.put(_V4 + "/labels", status_code=204, operation_id="crm.association_labels.update")
async def update_label(
    fromObjectType: str, toObjectType: str, body: bodies.LabelChangeIn, world: CurrentWorld
) -> Response:
    """Rename a label that the account made."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    association_types.rename(world, one, other, body.associationTypeId, body.label, body.inverseLabel)
    return nothing()


@router.delete(_V4 + "/labels/{associationTypeId}", status_code=204, operation_id="crm.association_labels.archive")
async def archive_label(
    fromObjectType: str,
    toObjectType: str,
    associationTypeId: QueryNumber,
    world: CurrentWorld,
) -> Response:
    """Remove a label that the account made, from every pair that has it."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    association_types.remove(world, one, other, associationTypeId)
    return nothing()


@router.post(
    _V3 + "/batch/create",
    status_code=201,
    operation_id="crm.associations_v3.batch_create",
    response_model=bodies.NamedTieBatch,
    responses=_PARTLY,
)
async def batch_create_named(
    fromObjectType: str, toObjectType: str, body: bodies.NamedPairsIn, world: CurrentWorld
) -> Response:
    """Associate many pairs of records by the name of the association type, such as contact_to_company."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    results: list[Any] = []
    errors: list[Any] = []
    for given in body.inputs:
        try:
            here, there = associations.live(world, one, given.from_.id), associations.live(world, other, given.to.id)
            associations.tie(world, here, there, [association_types.named(world, one.name, other.name, given.type)])
            results.append({"from": {"id": given.from_.id}, "to": {"id": given.to.id}, "type": given.type})
        except CrmRefusal as refusal:
            errors.append(standard_error(refusal, {"fromObjectId": [given.from_.id], "toObjectId": [given.to.id]}))
    return batch(world, results, errors, 201)


@router.post(
    _V3 + "/batch/read",
    operation_id="crm.associations_v3.batch_read",
    response_model=bodies.NamedEndsBatch,
    responses=_PARTLY,
)
async def batch_read_named(
    fromObjectType: str, toObjectType: str, body: bodies.ManyIdsIn, world: CurrentWorld
) -> Response:
    """Read what many records are associated with, by the names of the association types."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    results: list[Any] = []
    errors: list[Any] = []
    for given in body.inputs:
        try:
            here = associations.live(world, one, given.id)
        except CrmRefusal as refusal:
            errors.append(standard_error(refusal, {"fromObjectId": [given.id]}))
            continue
        ends = associations.ends(world, [here["id"]], other.name).get(here["id"], [])
        to = [{"id": str(end.to_id), "type": name} for end in ends for *_, name in end.types]
        results.append({"from": {"id": given.id}, "to": to})
    return batch(world, results, errors)


@router.post(_V3 + "/batch/archive", status_code=204, operation_id="crm.associations_v3.batch_archive")
async def batch_archive_named(
    fromObjectType: str, toObjectType: str, body: bodies.NamedPairsIn, world: CurrentWorld
) -> Response:
    """Take the named association types away from the given pairs."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    for given in body.inputs:
        here, there = associations.live(world, one, given.from_.id), associations.live(world, other, given.to.id)
        named = association_types.named(world, one.name, other.name, given.type)
        associations.untie_types(world, here["id"], other, there["id"], [named])
    return nothing()


@router.get(_V3 + "/types", operation_id="crm.association_types.list", response_model=bodies.TypeNameList)
async def list_types(fromObjectType: str, toObjectType: str, world: CurrentWorld) -> Response:
    """List the names of the association types between two object types."""
    one, other = object_types.resolve(world, fromObjectType), object_types.resolve(world, toObjectType)
    found = association_types.between(world, one.name, other.name)
    return Json({"results": [{"id": str(row["id"]), "name": row["name"]} for row in found]})


def _specs(given: list[SpecIn]) -> list[Spec]:
    return [Spec(one.associationCategory, one.associationTypeId) for one in given]


def _tie_plainly(world: World, here: Row, there: Row) -> list[Row]:
    plain = association_types.unlabelled(world, here["kind"], there["kind"])
    associations.tie(world, here, there, [])
    back = association_types.unlabelled(world, there["kind"], here["kind"])
    return [_plain(here, there, plain), _plain(there, here, back)]


def _plain(start: Row, end: Row, told: Row) -> Row:
    spec = {"associationCategory": told["category"], "associationTypeId": told["id"]}
    return {"from": {"id": str(start["id"])}, "to": {"id": str(end["id"])}, "associationSpec": spec}


def _tied(one: Kind, other: Kind, here: Row, there: Row, types: list[Row]) -> Row:
    return {
        "fromObjectTypeId": one.type_id,
        "fromObjectId": str(here["id"]),
        "toObjectTypeId": other.type_id,
        "toObjectId": str(there["id"]),
        "labels": [row["label"] for row in types if row["label"] is not None],
    }


def _label(row: Row) -> Row:
    return {"category": row["category"], "typeId": row["id"], "label": row["label"]}


def _end(end: End) -> Row:
    types = [{"category": category, "typeId": number, "label": label} for number, category, label, _ in end.types]
    return {"toObjectId": str(end.to_id), "associationTypes": types}
