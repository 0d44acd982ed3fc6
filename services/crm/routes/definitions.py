"""Owners, properties and their groups, and object types."""

from typing import Annotated, Literal

from fastapi import Depends, Query, Response

from services.crm.operations import object_types, owners, properties
from services.crm.operations.batches import run_each
from services.crm.routes.dependencies import PathObjectType
from services.crm.routes.responses import PARTIAL_SUCCESS, REFUSALS, batch_response, no_content, page_response
from services.crm.rows import Body, PropertyGroupRow, PropertyRow
from services.crm.schemas import definitions as bodies
from services.crm.schemas.shared import QueryFlag, QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.operations import Operation, add_operations

owners_router = product_router(responses=REFUSALS, tags=["owners"])
properties_router = product_router(responses=REFUSALS, tags=["properties"])
schemas_router = product_router(responses=REFUSALS, tags=["schemas"])
Archived = Annotated[QueryFlag, Query(description="Return only what has been archived.")]


def find_property(object_type: PathObjectType, propertyName: str, world: CurrentWorld) -> PropertyRow:
    return properties.require(world, object_type.name, propertyName)


def find_group(object_type: PathObjectType, groupName: str, world: CurrentWorld) -> PropertyGroupRow:
    return properties.require_group(world, object_type.name, groupName)


PathProperty = Annotated[PropertyRow, Depends(find_property)]
PathGroup = Annotated[PropertyGroupRow, Depends(find_group)]


@owners_router.get("/crm/v3/owners", include_in_schema=False)
async def page_owners(
    world: CurrentWorld,
    email: Annotated[str | None, Query(max_length=254, description="Only the owner with this address.")] = None,
    after: Annotated[QueryNumber, Query(ge=0, le=10**15)] = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=500)] = 100,
    archived: Archived = False,
) -> Response:
    """List the people that records can be assigned to. Assign by an owner's id, not by the userId."""
    rows, following = owners.page(world, email, after, limit, archived=archived)
    return page_response([owners.serialize(row) for row in rows], following, "/crm/v3/owners")


async def read_owner(
    ownerId: str,
    world: CurrentWorld,
    idProperty: Annotated[Literal["id", "userId"], Query(description="What ownerId is.")] = "id",
    archived: Archived = False,
) -> Response:
    """Read one owner by id or by user id."""
    return Json(owners.serialize(owners.read(world, ownerId, idProperty, archived=archived)))


async def list_properties(object_type: PathObjectType, world: CurrentWorld, archived: Archived = False) -> Response:
    """List the properties that records of a type can have, with their types and options."""
    rows = properties.list_all(world, object_type.name, archived=archived)
    return Json({"results": [properties.serialize(row) for row in rows]})


async def create_property(object_type: PathObjectType, body: bodies.PropertyIn, world: CurrentWorld) -> Response:
    """Create a property of your own for records of a type."""
    return Json(properties.serialize(properties.create(world, object_type.name, body.model_dump())), 201)


async def batch_read_properties(
    object_type: PathObjectType, body: bodies.PropertiesReadIn, world: CurrentWorld
) -> Response:
    """Read several properties by name."""

    def read_one(named: bodies.NamedIn) -> Body:
        return properties.serialize(properties.require(world, object_type.name, named.name, archived=body.archived))

    return batch_response(world, run_each(body.inputs, read_one, lambda named: {"name": [named.name]}))


async def batch_create_properties(
    object_type: PathObjectType, body: bodies.PropertiesCreateIn, world: CurrentWorld
) -> Response:
    """Create several properties; those that cannot be created are reported, the rest is kept."""

    def create_one(new: bodies.PropertyIn) -> Body:
        return properties.serialize(properties.create(world, object_type.name, new.model_dump()))

    return batch_response(world, run_each(body.inputs, create_one, lambda new: {"name": [new.name]}), 201)


async def batch_archive_properties(
    object_type: PathObjectType, body: bodies.PropertyNamesIn, world: CurrentWorld
) -> Response:
    """Archive several properties of your own."""
    for name in dict.fromkeys(each.name for each in body.inputs):
        properties.archive(world, properties.require(world, object_type.name, name))
    return no_content()


async def list_groups(object_type: PathObjectType, world: CurrentWorld) -> Response:
    """List the groups that the properties of a type are sorted into."""
    rows = properties.list_groups(world, object_type.name)
    return Json({"results": [properties.serialize_group(row) for row in rows]})


async def create_group(object_type: PathObjectType, body: bodies.GroupIn, world: CurrentWorld) -> Response:
    """Create a group for properties."""
    row = properties.create_group(world, object_type.name, body.name, body.label, body.displayOrder)
    return Json(properties.serialize_group(row), 201)


async def read_group(group: PathGroup) -> Response:
    """Read one group of properties."""
    return Json(properties.serialize_group(group))


async def update_group(group: PathGroup, body: bodies.GroupChangeIn, world: CurrentWorld) -> Response:
    """Rename or move a group of properties."""
    return Json(properties.serialize_group(properties.update_group(world, group, body.label, body.displayOrder)))


async def archive_group(group: PathGroup, world: CurrentWorld) -> Response:
    """Archive a group that no property is in."""
    properties.archive_group(world, group)
    return no_content()


async def read_property(
    object_type: PathObjectType, propertyName: str, world: CurrentWorld, archived: Archived = False
) -> Response:
    """Read the definition of one property: its type, its options, whether it can be written."""
    return Json(properties.serialize(properties.require(world, object_type.name, propertyName, archived=archived)))


async def update_property(row: PathProperty, body: bodies.PropertyChangeIn, world: CurrentWorld) -> Response:
    """Change the definition of a property, for example its label or its options."""
    changes = body.model_dump(exclude_unset=True, exclude_none=True)
    return Json(properties.serialize(properties.update(world, row, changes)))


async def archive_property(row: PathProperty, world: CurrentWorld) -> Response:
    """Archive a property of your own."""
    properties.archive(world, row)
    return no_content()


async def list_schemas(world: CurrentWorld, archived: Archived = False) -> Response:
    """List the object types that the account defined beside the standard ones."""
    return Json({"results": [] if archived else object_types.list_custom(world)})


async def create_schema(body: bodies.ObjectTypeIn, world: CurrentWorld) -> Response:
    """Create an object type of your own with its first properties and associations."""
    return Json(object_types.create(world, body.model_dump()), 201)


async def read_schema(object_type: PathObjectType, world: CurrentWorld) -> Response:
    """Read an object type: its labels, its properties and what it can be associated with."""
    return Json(object_types.serialize(world, object_type))


# fmt: off
add_operations(owners_router, (
    Operation("crm.owners.list", "GET", "/crm/v3/owners/", "Page Owners", bodies.OwnerPage, page_owners),
    Operation("crm.owners.get", "GET", "/crm/v3/owners/{ownerId}", "Read Owner", bodies.OwnerOut, read_owner),
))
add_operations(properties_router, (
    Operation("crm.properties.list", "GET", "/crm/v3/properties/{objectType}", "List Properties", bodies.PropertyList,
              list_properties),
    Operation("crm.properties.create", "POST", "/crm/v3/properties/{objectType}", "Create Property", bodies.PropertyOut,
              create_property, status=201),
    Operation("crm.properties.batch_read", "POST", "/crm/v3/properties/{objectType}/batch/read",
              "Batch Read Properties", bodies.PropertyBatch, batch_read_properties, responses=PARTIAL_SUCCESS),
    Operation("crm.properties.batch_create", "POST", "/crm/v3/properties/{objectType}/batch/create",
              "Batch Create Properties", bodies.PropertyBatch, batch_create_properties, status=201,
              responses=PARTIAL_SUCCESS),
    Operation("crm.properties.batch_archive", "POST", "/crm/v3/properties/{objectType}/batch/archive",
              "Batch Archive Properties", None, batch_archive_properties, status=204),
    Operation("crm.property_groups.list", "GET", "/crm/v3/properties/{objectType}/groups", "List Groups",
              bodies.GroupList, list_groups),
    Operation("crm.property_groups.create", "POST", "/crm/v3/properties/{objectType}/groups", "Create Group",
              bodies.GroupOut, create_group, status=201),
    Operation("crm.property_groups.get", "GET", "/crm/v3/properties/{objectType}/groups/{groupName}", "Read Group",
              bodies.GroupOut, read_group),
    Operation("crm.property_groups.update", "PATCH", "/crm/v3/properties/{objectType}/groups/{groupName}",
              "Update Group", bodies.GroupOut, update_group),
    Operation("crm.property_groups.archive", "DELETE", "/crm/v3/properties/{objectType}/groups/{groupName}",
              "Archive Group", None, archive_group, status=204),
    Operation("crm.properties.get", "GET", "/crm/v3/properties/{objectType}/{propertyName}", "Read Property",
              bodies.PropertyOut, read_property),
    Operation("crm.properties.update", "PATCH", "/crm/v3/properties/{objectType}/{propertyName}", "Update Property",
              bodies.PropertyOut, update_property),
    Operation("crm.properties.archive", "DELETE", "/crm/v3/properties/{objectType}/{propertyName}", "Archive Property",
              None, archive_property, status=204),
))
add_operations(schemas_router, (
    Operation("crm.schemas.list", "GET", "/crm-object-schemas/v3/schemas", "List Schemas", bodies.ObjectTypeList,
              list_schemas),
    Operation("crm.schemas.create", "POST", "/crm-object-schemas/v3/schemas", "Create Schema", bodies.ObjectTypeOut,
              create_schema, status=201),
    Operation("crm.schemas.get", "GET", "/crm-object-schemas/v3/schemas/{objectType}", "Read Schema",
              bodies.ObjectTypeOut, read_schema),
))
# fmt: on

router = product_router()
for _router in (owners_router, properties_router, schemas_router):
    router.include_router(_router)
