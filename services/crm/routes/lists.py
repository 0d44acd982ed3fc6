"""Lists and their members."""

from typing import Annotated

from fastapi import Body, Depends, Query, Response

from services.crm.operations import lists
from services.crm.routes.responses import REFUSALS, no_content, page_response
from services.crm.rows import ListRow
from services.crm.schemas import lists as bodies
from services.crm.schemas.shared import QueryFlag, QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso
from services.kernel.operations import Operation, add_operations

router = product_router(responses=REFUSALS, tags=["lists"])
IncludeFilters = Annotated[QueryFlag, Query(description="Return the filters of dynamic lists too.")]


def find_list(listId: str, world: CurrentWorld) -> ListRow:
    return lists.read(world, listId)


PathList = Annotated[ListRow, Depends(find_list)]


@router.post("/crm/v3/lists", include_in_schema=False)
async def create(body: bodies.ListIn, world: CurrentWorld) -> Response:
    """Create a list: MANUAL with members by hand, DYNAMIC by filters, SNAPSHOT by filters evaluated once."""
    row = lists.create(world, body.model_dump(exclude_unset=True))
    return Json({"list": lists.serialize(world, row, filters=True)})


@router.get("/crm/v3/lists", include_in_schema=False)
async def read_several(
    world: CurrentWorld,
    listIds: Annotated[list[str], Query(max_length=500, description="Ids of the lists to read.")] = [],  # noqa: B006
    includeFilters: IncludeFilters = False,
) -> Response:
    """Read several lists by their ids."""
    rows = lists.find_by_ids(world, [list_id for text in listIds for list_id in text.split(",")])
    return Json({"lists": [lists.serialize(world, row, filters=includeFilters) for row in rows]})


async def search(body: bodies.ListSearchIn, world: CurrentWorld) -> Response:
    """Search lists by a part of their name, by processing type or by id."""
    rows = lists.search(world, body.query or "", body.listIds, body.processingTypes, body.objectTypeId)
    page_rows = rows[body.offset : body.offset + body.count]
    results = [lists.serialize_result(world, row, body.additionalProperties) for row in page_rows]
    offset = body.offset + len(results)
    return Json({"lists": results, "total": len(rows), "offset": offset, "hasMore": offset < len(rows)})


async def read_by_name(
    objectTypeId: str, listName: str, world: CurrentWorld, includeFilters: IncludeFilters = False
) -> Response:
    """Read one list of an object type by its exact name."""
    row = lists.find_by_name(world, objectTypeId, listName)
    return Json({"list": lists.serialize(world, row, filters=includeFilters)})


async def of_record(objectTypeId: str, recordId: str, world: CurrentWorld) -> Response:
    """Read which lists a record is a member of."""
    memberships = lists.list_memberships_of(world, objectTypeId, recordId)
    return Json({"total": len(memberships), "results": memberships})


async def read(row: PathList, world: CurrentWorld, includeFilters: IncludeFilters = False) -> Response:
    """Read one list by its id, with its size and, if wanted, its filters."""
    return Json({"list": lists.serialize(world, row, filters=includeFilters)})


async def archive(row: PathList, world: CurrentWorld) -> Response:
    """Delete a list; it can be restored."""
    lists.delete(world, row)
    return no_content()


async def restore(listId: str, world: CurrentWorld) -> Response:
    """Restore a deleted list with its members."""
    lists.restore(world, listId)
    return no_content()


async def rename(
    row: PathList,
    world: CurrentWorld,
    listName: Annotated[str, Query(min_length=1, max_length=250, pattern=r"\S", description="The new name.")],
    includeFilters: IncludeFilters = False,
) -> Response:
    """Give a list another name; names are unique within an object type."""
    renamed = lists.rename(world, row, listName)
    return Json({"updatedList": lists.serialize(world, renamed, filters=includeFilters)})


async def update_filters(row: PathList, body: bodies.FiltersIn, world: CurrentWorld) -> Response:
    """Give a dynamic list new filters; its members change at once."""
    changed = lists.update_filters(world, row, body.model_dump(exclude_unset=True))
    return Json({"updatedList": lists.serialize(world, changed, filters=True)})


async def page(
    row: PathList,
    listId: str,
    world: CurrentWorld,
    after: Annotated[QueryNumber, Query(ge=0, le=10**15)] = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=250)] = 100,
) -> Response:
    """List the members of a list in the order of their ids."""
    members = lists.list_members(world, row)
    rest = [member for member in members if member.record_id > after]
    results = [
        {"recordId": str(member.record_id), "membershipTimestamp": iso(member.added_at)} for member in rest[:limit]
    ]
    following = rest[limit - 1].record_id if len(rest) > limit else None
    return page_response(results, following, f"/crm/v3/lists/{listId}/memberships", total=len(members))


async def add(row: PathList, ids: Annotated[bodies.RecordIds, Body()], world: CurrentWorld) -> Response:
    """Put records on a manual list by their ids."""
    return Json(lists.change_members(world, row, add=ids, remove=()))


async def remove(row: PathList, ids: Annotated[bodies.RecordIds, Body()], world: CurrentWorld) -> Response:
    """Take records off a manual list by their ids."""
    return Json(lists.change_members(world, row, add=(), remove=ids))


async def add_and_remove(row: PathList, body: bodies.MembersIn, world: CurrentWorld) -> Response:
    """Put some records on a manual list and take others off."""
    return Json(lists.change_members(world, row, add=body.recordIdsToAdd, remove=body.recordIdsToRemove))


async def remove_all(row: PathList, world: CurrentWorld) -> Response:
    """Take every record off a manual list."""
    lists.clear(world, row)
    return no_content()


# fmt: off
add_operations(router, (
    Operation("crm.lists.create", "POST", "/crm/v3/lists/", "Create", bodies.OneListOut, create),
    Operation("crm.lists.list", "GET", "/crm/v3/lists/", "Read Several", bodies.ListsOut, read_several),
    Operation("crm.lists.search", "POST", "/crm/v3/lists/search", "Search", bodies.FoundListsOut, search),
    Operation("crm.lists.get_by_name", "GET", "/crm/v3/lists/object-type-id/{objectTypeId}/name/{listName}",
              "Read By Name", bodies.OneListOut, read_by_name),
    Operation("crm.list_memberships.of_record", "GET", "/crm/v3/lists/records/{objectTypeId}/{recordId}/memberships",
              "Of Record", bodies.MembershipsOut, of_record),
    Operation("crm.lists.get", "GET", "/crm/v3/lists/{listId}", "Read", bodies.OneListOut, read),
    Operation("crm.lists.archive", "DELETE", "/crm/v3/lists/{listId}", "Archive", None, archive, status=204),
    Operation("crm.lists.restore", "PUT", "/crm/v3/lists/{listId}/restore", "Restore", None, restore, status=204),
    Operation("crm.lists.rename", "PUT", "/crm/v3/lists/{listId}/update-list-name", "Rename", bodies.ChangedListOut,
              rename),
    Operation("crm.lists.update_filters", "PUT", "/crm/v3/lists/{listId}/update-list-filters", "Update Filters",
              bodies.ChangedListOut, update_filters),
    Operation("crm.list_memberships.list", "GET", "/crm/v3/lists/{listId}/memberships", "Page", bodies.MemberPage,
              page),
    Operation("crm.list_memberships.add", "PUT", "/crm/v3/lists/{listId}/memberships/add", "Add",
              bodies.MembersChangedOut, add),
    Operation("crm.list_memberships.remove", "PUT", "/crm/v3/lists/{listId}/memberships/remove", "Remove",
              bodies.MembersChangedOut, remove),
    Operation("crm.list_memberships.add_and_remove", "PUT", "/crm/v3/lists/{listId}/memberships/add-and-remove",
              "Add And Remove", bodies.MembersChangedOut, add_and_remove),
    Operation("crm.list_memberships.remove_all", "DELETE", "/crm/v3/lists/{listId}/memberships", "Remove All", None,
              remove_all, status=204),
))
# fmt: on
