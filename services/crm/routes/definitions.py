"""Owners, properties and their groups, and object types."""

from typing import Annotated, Any, Literal

from fastapi import Query, Response

from services.crm.errors import CrmRefusal, standard_error
from services.crm.operations import object_types, owners, properties
from services.crm.routes.answers import REFUSALS, batch, nothing, paged
from services.crm.schemas import definitions as bodies
from services.crm.schemas.shared import QueryFlag, QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router(responses=REFUSALS)
_OWNERS, _PROPERTIES = "/crm/v3/owners", "/crm/v3/properties/{objectType}"
_SCHEMAS = "/crm-object-schemas/v3/schemas"
_PARTLY: dict[int | str, dict[str, Any]] = {207: {"description": "Done in part; `errors` says what was not."}}
Archived = Annotated[QueryFlag, Query(description="Return only what has been archived.")]


@router.get(_OWNERS, include_in_schema=False)
@router.get(_OWNERS + "/", operation_id="crm.owners.list", response_model=bodies.OwnerPage, tags=["owners"])
async def page_owners(
    world: CurrentWorld,
    email: Annotated[str | None, Query(max_length=254, description="Only the owner with this address.")] = None,
    after: Annotated[QueryNumber, Query(ge=0, le=10**15)] = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=500)] = 100,
    archived: Archived = False,
) -> Response:
    """List the people that records can be assigned to. Assign by an owner's id, not by the userId."""
    shown, after_next = owners.page(world, email, after, limit, archived=archived)
    return paged(shown, after_next, _OWNERS)


@router.get(_OWNERS + "/{ownerId}", operation_id="crm.owners.get", response_model=bodies.OwnerOut, tags=["owners"])
async def read_owner(
    ownerId: str,
    world: CurrentWorld,
    idProperty: Annotated[Literal["id", "userId"], Query(description="What ownerId is.")] = "id",
    archived: Archived = False,
) -> Response:
    """Read one owner by id or by user id."""
    return Json(owners.read(world, ownerId, idProperty, archived=archived))


@router.get(_PROPERTIES, operation_id="crm.properties.list", response_model=bodies.PropertyList, tags=["properties"])
async def list_properties(
    objectType: str,
    world: CurrentWorld,
    archived: Archived = False,
) -> Response:
    """List the properties that records of a type can have, with their types and options."""
    kind = object_types.resolve(world, objectType)
    return Json({"results": properties.list_all(world, kind.name, archived=archived)})


@router.post(
    _PROPERTIES,
    status_code=201,
    operation_id="crm.properties.create",
    response_model=bodies.PropertyOut,
    tags=["properties"],
)
async def create_property(objectType: str, body: bodies.PropertyIn, world: CurrentWorld) -> Response:
    """Create a property of your own for records of a type."""
    kind = object_types.resolve(world, objectType)
    return Json(properties.create(world, kind.name, body.model_dump()), 201)


@router.post(
    _PROPERTIES + "/batch/read",
    operation_id="crm.properties.batch_read",
    response_model=bodies.PropertyBatch,
    responses=_PARTLY,
    tags=["properties"],
)
async def batch_read_properties(objectType: str, body: bodies.PropertiesReadIn, world: CurrentWorld) -> Response:
    """Read several properties by name."""
    kind = object_types.resolve(world, objectType)
    results: list[Any] = []
    errors: list[Any] = []
    for one in body.inputs:
        try:
            results.append(properties.read(world, kind.name, one.name, archived=body.archived))
        except CrmRefusal as refusal:
            errors.append(standard_error(refusal, {"name": [one.name]}))
    return batch(world, results, errors)


@router.post(
    _PROPERTIES + "/batch/create",
    status_code=201,
    operation_id="crm.properties.batch_create",
    response_model=bodies.PropertyBatch,
    responses=_PARTLY,
    tags=["properties"],
)
async def batch_create_properties(objectType: str, body: bodies.PropertiesCreateIn, world: CurrentWorld) -> Response:
    """Create several properties; those that cannot be created are reported, the rest is kept."""
    kind = object_types.resolve(world, objectType)
    results: list[Any] = []
    errors: list[Any] = []
    for one in body.inputs:
        try:
            results.append(properties.create(world, kind.name, one.model_dump()))
        except CrmRefusal as refusal:
            errors.append(standard_error(refusal, {"name": [one.name]}))
    return batch(world, results, errors, 201)


@router.post(
    _PROPERTIES + "/batch/archive", status_code=204, operation_id="crm.properties.batch_archive", tags=["properties"]
)
async def batch_archive_properties(objectType: str, body: bodies.PropertyNamesIn, world: CurrentWorld) -> Response:
    """Archive several properties of your own."""
    kind = object_types.resolve(world, objectType)
    for name in dict.fromkeys(one.name for one in body.inputs):
        properties.archive(world, kind.name, name)
    return nothing()


@router.get(
    _PROPERTIES + "/groups",
    operation_id="crm.property_groups.list",
    response_model=bodies.GroupList,
    tags=["properties"],
)
async def list_groups(objectType: str, world: CurrentWorld) -> Response:
    """List the groups that the properties of a type are sorted into."""
    return Json({"results": properties.list_groups(world, object_types.resolve(world, objectType).name)})


@router.post(
    _PROPERTIES + "/groups",
    status_code=201,
    operation_id="crm.property_groups.create",
    response_model=bodies.GroupOut,
    tags=["properties"],
)
async def create_group(objectType: str, body: bodies.GroupIn, world: CurrentWorld) -> Response:
    """Create a group for properties."""
    kind = object_types.resolve(world, objectType)
    return Json(properties.create_group(world, kind.name, body.name, body.label, body.displayOrder), 201)


@router.get(
    _PROPERTIES + "/groups/{groupName}",
    operation_id="crm.property_groups.get",
    response_model=bodies.GroupOut,
    tags=["properties"],
)
async def read_group(objectType: str, groupName: str, world: CurrentWorld) -> Response:
    """Read one group of properties."""
    return Json(properties.read_group(world, object_types.resolve(world, objectType).name, groupName))


@router.patch(
    _PROPERTIES + "/groups/{groupName}",
    operation_id="crm.property_groups.update",
    response_model=bodies.GroupOut,
    tags=["properties"],
)
async def update_group(objectType: str, groupName: str, body: bodies.GroupChangeIn, world: CurrentWorld) -> Response:
    """Rename or move a group of properties."""
    kind = object_types.resolve(world, objectType)
    return Json(properties.update_group(world, kind.name, groupName, body.label, body.displayOrder))


@router.delete(
    _PROPERTIES + "/groups/{groupName}",
    status_code=204,
    operation_id="crm.property_groups.archive",
    tags=["properties"],
)
async def archive_group(objectType: str, groupName: str, world: CurrentWorld) -> Response:
    """Archive a group that no property is in."""
    properties.archive_group(world, object_types.resolve(world, objectType).name, groupName)
    return nothing()


@router.get(
    _PROPERTIES + "/{propertyName}",
    operation_id="crm.properties.get",
    response_model=bodies.PropertyOut,
    tags=["properties"],
)
async def read_property(
    objectType: str,
    propertyName: str,
    world: CurrentWorld,
    archived: Archived = False,
) -> Response:
    """Read the definition of one property: its type, its options, whether it can be written."""
    kind = object_types.resolve(world, objectType)
    return Json(properties.read(world, kind.name, propertyName, archived=archived))


@router.patch(
    _PROPERTIES + "/{propertyName}",
    operation_id="crm.properties.update",
    response_model=bodies.PropertyOut,
    tags=["properties"],
)
async def update_property(
    objectType: str, propertyName: str, body: bodies.PropertyChangeIn, world: CurrentWorld
) -> Response:
    """Change the definition of a property, for example its label or its options."""
    kind = object_types.resolve(world, objectType)
    given = body.model_dump(exclude_unset=True, exclude_none=True)
    return Json(properties.update(world, kind.name, propertyName, given))


@router.delete(
    _PROPERTIES + "/{propertyName}", status_code=204, operation_id="crm.properties.archive", tags=["properties"]
)
async def archive_property(objectType: str, propertyName: str, world: CurrentWorld) -> Response:
    """Archive a property of your own."""
    properties.archive(world, object_types.resolve(world, objectType).name, propertyName)
    return nothing()


@router.get(_SCHEMAS, operation_id="crm.schemas.list", response_model=bodies.ObjectTypeList, tags=["schemas"])
async def list_schemas(world: CurrentWorld, archived: Archived = False) -> Response:
    """List the object types that the account defined beside the standard ones."""
    return Json({"results": [] if archived else object_types.list_custom(world)})


@router.post(
    _SCHEMAS,
    status_code=201,
    operation_id="crm.schemas.create",
    response_model=bodies.ObjectTypeOut,
    tags=["schemas"],
)
async def create_schema(body: bodies.ObjectTypeIn, world: CurrentWorld) -> Response:
    """Create an object type of your own with its first properties and associations."""
    return Json(object_types.create(world, body.model_dump()), 201)


@router.get(
    _SCHEMAS + "/{objectType}", operation_id="crm.schemas.get", response_model=bodies.ObjectTypeOut, tags=["schemas"]
)
async def read_schema(objectType: str, world: CurrentWorld) -> Response:
    """Read an object type: its labels, its properties and what it can be associated with."""
    return Json(object_types.schema(world, object_types.resolve(world, objectType)))
