"""Lists and who is on them."""

from typing import Annotated

from fastapi import Body, Query, Response

from services.crm.operations import lists
from services.crm.routes.answers import REFUSALS, nothing, paged
from services.crm.schemas import lists as bodies
from services.crm.schemas.shared import QueryFlag, QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso
from services.kernel.world import World

router = product_router(responses=REFUSALS, tags=["lists"])
_LISTS = "/crm/v3/lists"
_ONE = _LISTS + "/{listId}"
_MEMBERS = _ONE + "/memberships"
IncludeFilters = Annotated[QueryFlag, Query(description="Return the filters of dynamic lists too.")]


@router.post(_LISTS, include_in_schema=False)
@router.post(_LISTS + "/", operation_id="crm.lists.create", response_model=bodies.OneListOut)
async def create(body: bodies.ListIn, world: CurrentWorld) -> Response:
    """Create a list: MANUAL with members by hand, DYNAMIC by filters, SNAPSHOT by filters evaluated once."""
    row = lists.create(world, body.model_dump(exclude_unset=True))
    return Json({"list": lists.show(world, row, filters=True)})


@router.get(_LISTS, include_in_schema=False)
@router.get(_LISTS + "/", operation_id="crm.lists.list", response_model=bodies.ListsOut)
async def read_several(
    world: CurrentWorld,
    listIds: Annotated[list[str], Query(max_length=500, description="Ids of the lists to read.")] = [],  # noqa: B006
    includeFilters: IncludeFilters = False,
) -> Response:
    """Read several lists by their ids."""
    rows = lists.by_ids(world, [one for text in listIds for one in text.split(",")])
    return Json({"lists": [lists.show(world, row, filters=includeFilters) for row in rows]})


@router.post(_LISTS + "/search", operation_id="crm.lists.search", response_model=bodies.FoundListsOut)
async def search(body: bodies.ListSearchIn, world: CurrentWorld) -> Response:
    """Search lists by a part of their name, by processing type or by id."""
    found = lists.find(world, body.query or "", body.listIds, body.processingTypes, body.objectTypeId)
    page = found[body.offset : body.offset + body.count]
    shown = [lists.show_found(world, row, body.additionalProperties) for row in page]
    last = body.offset + len(page)
    return Json({"lists": shown, "total": len(found), "offset": last, "hasMore": last < len(found)})


@router.get(
    _LISTS + "/object-type-id/{objectTypeId}/name/{listName}",
    operation_id="crm.lists.get_by_name",
    response_model=bodies.OneListOut,
)
async def read_by_name(
    objectTypeId: str, listName: str, world: CurrentWorld, includeFilters: IncludeFilters = False
) -> Response:
    """Read one list of an object type by its exact name."""
    row = lists.by_name(world, objectTypeId, listName)
    return Json({"list": lists.show(world, row, filters=includeFilters)})


@router.get(
    _LISTS + "/records/{objectTypeId}/{recordId}/memberships",
    operation_id="crm.list_memberships.of_record",
    response_model=bodies.MembershipsOut,
)
async def of_record(objectTypeId: str, recordId: str, world: CurrentWorld) -> Response:
    """Read which lists a record is a member of."""
    found = lists.memberships_of(world, objectTypeId, recordId)
    return Json({"total": len(found), "results": found})


@router.get(_ONE, operation_id="crm.lists.get", response_model=bodies.OneListOut)
async def read(listId: str, world: CurrentWorld, includeFilters: IncludeFilters = False) -> Response:
    """Read one list by its id, with its size and, if wanted, its filters."""
    return Json({"list": lists.show(world, lists.read(world, listId), filters=includeFilters)})


@router.delete(_ONE, status_code=204, operation_id="crm.lists.archive")
async def archive(listId: str, world: CurrentWorld) -> Response:
    """Delete a list; it can be restored."""
    lists.delete(world, lists.read(world, listId))
    return nothing()


@router.put(_ONE + "/restore", status_code=204, operation_id="crm.lists.restore")
async def restore(listId: str, world: CurrentWorld) -> Response:
    """Restore a deleted list with its members."""
    lists.restore(world, listId)
    return nothing()


@router.put(_ONE + "/update-list-name", operation_id="crm.lists.rename", response_model=bodies.ChangedListOut)
async def rename(
    listId: str,
    world: CurrentWorld,
    listName: Annotated[str, Query(min_length=1, max_length=250, pattern=r"\S", description="The new name.")],
    includeFilters: IncludeFilters = False,
) -> Response:
    """Give a list another name; names are unique within an object type."""
    row = lists.rename(world, lists.read(world, listId), listName)
    return Json({"updatedList": lists.show(world, row, filters=includeFilters)})


@router.put(
    _ONE + "/update-list-filters", operation_id="crm.lists.update_filters", response_model=bodies.ChangedListOut
)
async def update_filters(
    listId: str,
    body: bodies.FiltersIn,
    world: CurrentWorld,
) -> Response:
    """Give a dynamic list new filters; its members change at once."""
    branch = body.filterBranch.model_dump(exclude_unset=True)
    row = lists.refilter(world, lists.read(world, listId), branch)
    return Json({"updatedList": lists.show(world, row, filters=True)})


@router.get(_MEMBERS, operation_id="crm.list_memberships.list", response_model=bodies.MemberPage)
async def page(
    listId: str,
    world: CurrentWorld,
    after: Annotated[QueryNumber, Query(ge=0, le=10**15)] = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=250)] = 100,
) -> Response:
    """List the members of a list in the order of their ids."""
    everyone = lists.members(world, lists.read(world, listId))
    found = [one for one in everyone if one[0] > after]
    shown = [{"recordId": str(one), "membershipTimestamp": iso(since)} for one, since in found[:limit]]
    following = found[limit - 1][0] if len(found) > limit else None
    return paged(shown, following, f"{_LISTS}/{listId}/memberships", total=len(everyone))


@router.put(_MEMBERS + "/add", operation_id="crm.list_memberships.add", response_model=bodies.MembersChangedOut)
async def add(listId: str, ids: Annotated[bodies.RecordIds, Body()], world: CurrentWorld) -> Response:
    """Put records on a manual list by their ids."""
    return _changed(world, listId, ids, [])


@router.put(_MEMBERS + "/remove", operation_id="crm.list_memberships.remove", response_model=bodies.MembersChangedOut)
async def remove(listId: str, ids: Annotated[bodies.RecordIds, Body()], world: CurrentWorld) -> Response:
    """Take records off a manual list by their ids."""
    return _changed(world, listId, [], ids)


@router.put(
    _MEMBERS + "/add-and-remove",
    operation_id="crm.list_memberships.add_and_remove",
    response_model=bodies.MembersChangedOut,
)
async def add_and_remove(listId: str, body: bodies.MembersIn, world: CurrentWorld) -> Response:
    """Put some records on a manual list and take others off."""
    return _changed(world, listId, body.recordIdsToAdd, body.recordIdsToRemove)


@router.delete(_MEMBERS, status_code=204, operation_id="crm.list_memberships.remove_all")
async def remove_all(listId: str, world: CurrentWorld) -> Response:
    """Take every record off a manual list."""
    lists.clear(world, lists.read(world, listId))
    return nothing()


def _changed(world: World, list_id: str, add_ids: list[str], remove_ids: list[str]) -> Response:
    return Json(lists.change_members(world, lists.read(world, list_id), add_ids, remove_ids))
