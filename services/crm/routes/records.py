"""Records: one set of endpoints over {objectType}, and the same again for each type by its own name."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query, Request, Response

from services.crm.errors import InvalidRequest
from services.crm.kinds import STANDARD
from services.crm.operations import batches, merging, object_types, records, search, showing
from services.crm.operations.associations import Spec
from services.crm.operations.batches import ChangedRecord, NewRecord
from services.crm.operations.records import Tie
from services.crm.operations.search import Search, Sort
from services.crm.operations.showing import Wanted
from services.crm.routes.answers import REFUSALS, batch, nothing, paged
from services.crm.routes.typed import Operation, register
from services.crm.schemas import records as bodies
from services.crm.schemas.shared import PropertyValue, QueryFlag, QueryNumber, as_text
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router(responses=REFUSALS)

PropertyNames = Annotated[
    list[str], Query(max_length=500, description="Properties to return; several, or one text with commas.")
]
HistoryNames = Annotated[
    list[str], Query(max_length=50, description="Properties to return together with their past values.")
]
AssociatedTypes = Annotated[
    list[str], Query(max_length=20, description="Object types whose associated ids to return, such as companies.")
]
Archived = Annotated[QueryFlag, Query(description="Return only records that have been archived.")]
IdProperty = Annotated[
    str | None, Query(max_length=100, description="A unique property that the id is a value of, such as email.")
]
After = Annotated[QueryNumber, Query(ge=0, le=10**15, description="paging.next.after of the page before.")]


async def create(objectType: str, body: bodies.NewIn, world: CurrentWorld) -> Response:
    kind = object_types.resolve(world, objectType)
    row = records.create(world, kind, _given(body.properties), _ties(body))
    return Json(showing.show_whole(world, kind, row), 201)


async def read(
    objectType: str,
    objectId: str,
    world: CurrentWorld,
    properties: PropertyNames = [],  # noqa: B006 - FastAPI copies defaults
    propertiesWithHistory: HistoryNames = [],  # noqa: B006
    associations: AssociatedTypes = [],  # noqa: B006
    archived: Archived = False,
    idProperty: IdProperty = None,
) -> Response:
    kind = object_types.resolve(world, objectType)
    row = records.read(world, kind, objectId, idProperty, archived=archived)
    return Json(showing.show_one(world, kind, row, _wanted(properties, propertiesWithHistory, associations)))


async def page(
    objectType: str,
    world: CurrentWorld,
    limit: Annotated[QueryNumber, Query(ge=1, le=100, description="Records on a page.")] = 10,
    after: After = 0,
    properties: PropertyNames = [],  # noqa: B006
    propertiesWithHistory: HistoryNames = [],  # noqa: B006
    associations: AssociatedTypes = [],  # noqa: B006
    archived: Archived = False,
) -> Response:
    kind = object_types.resolve(world, objectType)
    wanted = _wanted(properties, propertiesWithHistory, associations)
    if wanted.history and limit > 50:
        raise InvalidRequest("limit must be at most 50 when propertiesWithHistory is requested")
    found = records.page(world, kind, after, limit, archived=archived)
    shown = showing.show(world, kind, found.records, wanted)
    return paged(shown, found.after, f"/crm/v3/objects/{objectType}")


async def update(
    objectType: str, objectId: str, body: bodies.PropertiesIn, world: CurrentWorld, idProperty: IdProperty = None
) -> Response:
    kind = object_types.resolve(world, objectType)
    row = records.read(world, kind, objectId, idProperty)
    return Json(showing.show_whole(world, kind, records.update(world, kind, row, _given(body.properties))))


async def archive(objectType: str, objectId: str, world: CurrentWorld) -> Response:
    kind = object_types.resolve(world, objectType)
    records.archive(world, records.read(world, kind, objectId))
    return nothing()


async def find(objectType: str, body: bodies.SearchIn, request: Request, world: CurrentWorld) -> Response:
    if len(await request.body()) > search.LONGEST_BODY:
        raise InvalidRequest(f"There was a problem with the request. The body exceeds {search.LONGEST_BODY} characters")
    kind = object_types.resolve(world, objectType)
    found = search.search(world, kind, _asked(body))
    return paged(found.results, found.after, f"/crm/v3/objects/{objectType}/search", total=found.total)


async def batch_read(
    objectType: str, body: bodies.BatchReadIn, world: CurrentWorld, archived: Archived = False
) -> Response:
    kind = object_types.resolve(world, objectType)
    wanted = Wanted(tuple(body.properties) or None, tuple(body.propertiesWithHistory))
    ids = [one.id for one in body.inputs]
    done = batches.read(world, kind, ids, body.idProperty, wanted, archived=archived)
    return batch(world, done.results, done.errors)


async def batch_create(objectType: str, body: bodies.BatchCreateIn, world: CurrentWorld) -> Response:
    kind = object_types.resolve(world, objectType)
    inputs = [NewRecord(_given(one.properties), tuple(_ties(one)), one.objectWriteTraceId) for one in body.inputs]
    done = batches.create(world, kind, inputs)
    return batch(world, done.results, done.errors, 201)


async def batch_update(objectType: str, body: bodies.BatchUpdateIn, world: CurrentWorld) -> Response:
    done = batches.update(world, object_types.resolve(world, objectType), _changes(body))
    return batch(world, done.results, done.errors)


async def batch_upsert(objectType: str, body: bodies.BatchUpdateIn, world: CurrentWorld) -> Response:
    done = batches.upsert(world, object_types.resolve(world, objectType), _changes(body))
    return batch(world, done.results, done.errors)


async def batch_archive(objectType: str, body: bodies.BatchIdsIn, world: CurrentWorld) -> Response:
    batches.archive(world, object_types.resolve(world, objectType), [one.id for one in body.inputs])
    return nothing()


async def merge(objectType: str, body: bodies.MergeIn, world: CurrentWorld) -> Response:
    kind = object_types.resolve(world, objectType)
    return Json(showing.show_whole(world, kind, merging.merge(world, kind, body.primaryObjectId, body.objectIdToMerge)))


async def forget(objectType: str, body: bodies.ForgetIn, world: CurrentWorld) -> Response:
    kind = object_types.resolve(world, objectType)
    merging.forget(world, records.read(world, kind, body.objectId, body.idProperty))
    return nothing()


_LIMITS = "Takes at most 100 inputs."
OPERATIONS = (
    Operation(
        "create", "POST", "", create, bodies.ObjectOut, 201,
        "Create one {one} with the given properties and, if wanted, its associations. Answers with the new record and "
        "its id.{required}",
    ),
    Operation(
        "get", "GET", "/{objectId}", read, bodies.ObjectOut, 200,
        "Read one {one} by its id, or by a unique property named in idProperty. Returns a few default properties "
        "unless `properties` names others; can add past values and the ids of associated records.",
    ),
    Operation(
        "list", "GET", "", page, bodies.ObjectPage, 200,
        "List {many} in the order of their ids, a page at a time. To find particular records use the search instead.",
    ),
    Operation(
        "update", "PATCH", "/{objectId}", update, bodies.ObjectOut, 200,
        "Change some properties of one {one}; properties not named stay as they are, an empty text clears a value.",
    ),
    Operation(
        "archive", "DELETE", "/{objectId}", archive, None, 204,
        "Move one {one} to the recycling bin. It no longer appears in lists and searches; read it with archived=true.",
    ),
    Operation(
        "search", "POST", "/search", find, bodies.FoundOut, 200,
        "Search {many} by property values and free text. Filters in a group must all hold, one group is enough. "
        "Sorts by one property, returns at most 200 records a page and 10,000 in all.",
    ),
    Operation(
        "batch_read", "POST", "/batch/read", batch_read, bodies.ObjectBatch, 200,
        f"Read several {{many}} by id or by a unique property. {_LIMITS} Answers 207 if some were not found.",
    ),
    Operation(
        "batch_create", "POST", "/batch/create", batch_create, bodies.ObjectBatch, 201,
        f"Create several {{many}}. {_LIMITS} One invalid input fails the whole batch, unless every input has its own "
        "objectWriteTraceId: then the rest is created and the answer is 207.",
    ),
    Operation(
        "batch_update", "POST", "/batch/update", batch_update, bodies.ObjectBatch, 200,
        f"Change properties of several {{many}}. {_LIMITS} Answers 207 if some were not found.",
    ),
    Operation(
        "batch_upsert", "POST", "/batch/upsert", batch_upsert, bodies.UpsertBatch, 200,
        f"Update the {{many}} that have the given value of a unique property; create those that do not. {_LIMITS}",
    ),
    Operation(
        "batch_archive", "POST", "/batch/archive", batch_archive, None, 204,
        f"Move several {{many}} to the recycling bin. {_LIMITS} Ids that do not exist are passed over.",
    ),
)  # fmt: skip
MERGE = Operation(
    "merge", "POST", "/merge", merge, bodies.ObjectOut, 200,
    "Merge one {one} into another. The primary keeps its values and takes the other's where it has none; associations "
    "and activities move to it, and the other is archived. This cannot be undone.",
)  # fmt: skip
FORGET = Operation(
    "gdpr_delete", "POST", "/gdpr-delete", forget, None, 204,
    "Delete one {one} and its content permanently, as data protection law demands. This cannot be undone.",
)  # fmt: skip


def _wanted(properties: list[str], history: list[str], associations: list[str]) -> Wanted:
    return Wanted(_split(properties) or None, _split(history), _split(associations))


def _split(given: list[str]) -> tuple[str, ...]:
    """Lists come repeated or with commas."""
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


def _given(properties: Mapping[str, PropertyValue]) -> dict[str, str | None]:
    return {name: as_text(value) for name, value in properties.items()}


def _ties(body: bodies.NewIn) -> list[Tie]:
    return [
        Tie(one.to.id, tuple(Spec(spec.associationCategory, spec.associationTypeId) for spec in one.types))
        for one in body.associations
    ]


def _changes(body: bodies.BatchUpdateIn) -> list[ChangedRecord]:
    return [
        ChangedRecord(one.id, _given(one.properties), one.idProperty, one.objectWriteTraceId) for one in body.inputs
    ]


def _asked(body: bodies.SearchIn) -> Search:
    groups = [group.filters for group in body.filterGroups]
    if body.filters:
        groups.append(body.filters)
    return Search(
        groups=tuple(
            tuple(
                search.Filter(
                    one.propertyName,
                    one.operator,
                    one.value,
                    None if one.values is None else tuple(one.values),
                    one.highValue,
                )
                for one in group
            )
            for group in groups
        ),
        query=body.query,
        sort=_sort(body.sorts[0]) if body.sorts else None,
        properties=tuple(dict.fromkeys(body.properties)) if body.properties else None,
        limit=body.limit,
        after=int(body.after or 0),
    )


def _sort(given: str | bodies.SortIn) -> Sort:
    if isinstance(given, str):
        return Sort(given.removeprefix("-"), descending=given.startswith("-"))
    return Sort(given.propertyName, descending=given.direction == "DESCENDING")


for _kind in STANDARD:
    register(router, _kind, OPERATIONS)
    if _kind.mergeable:
        register(router, _kind, (MERGE,))
    if _kind.name == "contacts":
        register(router, _kind, (FORGET,))
register(router, None, OPERATIONS)
