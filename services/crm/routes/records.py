"""Records: one set of endpoints for any object type, served again under the path of each standard type."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.params import Depends

from services.crm.errors import InvalidRequest
from services.crm.object_types import STANDARD
from services.crm.operations import batches, merges, records, search, serialization
from services.crm.operations.associations import Spec
from services.crm.operations.batches import ChangedRecord, NewRecord
from services.crm.operations.records import NewAssociation
from services.crm.operations.search import Filter, SearchRequest, Sort
from services.crm.operations.serialization import RequestedFields
from services.crm.routes.dependencies import PathObjectType
from services.crm.routes.record_operations import RecordOperation, register, register_for_type
from services.crm.routes.responses import REFUSALS, batch_response, no_content, page_response
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


async def refuse_long_body(request: Request) -> None:
    if len(await request.body()) > search.MAX_BODY_LENGTH:
        raise InvalidRequest(
            f"There was a problem with the request. The body exceeds {search.MAX_BODY_LENGTH} characters"
        )


async def create(object_type: PathObjectType, body: bodies.NewIn, world: CurrentWorld) -> Response:
    row = records.create(world, object_type, _property_changes(body.properties), _new_associations(body))
    return Json(serialization.serialize_whole(world, object_type, row), 201)


async def read(
    object_type: PathObjectType,
    objectId: str,
    world: CurrentWorld,
    properties: PropertyNames = [],  # noqa: B006 - FastAPI copies defaults
    propertiesWithHistory: HistoryNames = [],  # noqa: B006
    associations: AssociatedTypes = [],  # noqa: B006
    archived: Archived = False,
    idProperty: IdProperty = None,
) -> Response:
    row = records.read(world, object_type, objectId, idProperty, archived=archived)
    fields = _parse_requested_fields(properties, propertiesWithHistory, associations)
    return Json(serialization.serialize(world, object_type, [row], fields)[0])


async def page(
    object_type: PathObjectType,
    request: Request,
    world: CurrentWorld,
    *,
    limit: Annotated[QueryNumber, Query(ge=1, le=100, description="Records on a page.")] = 10,
    after: After = 0,
    properties: PropertyNames = [],  # noqa: B006
    propertiesWithHistory: HistoryNames = [],  # noqa: B006
    associations: AssociatedTypes = [],  # noqa: B006
    archived: Archived = False,
) -> Response:
    fields = _parse_requested_fields(properties, propertiesWithHistory, associations)
    if fields.history and limit > 50:
        raise InvalidRequest("limit must be at most 50 when propertiesWithHistory is requested")
    record_page = records.page(world, object_type, after, limit, archived=archived)
    results = serialization.serialize(world, object_type, record_page.records, fields)
    return page_response(results, record_page.after, request.scope["path"])


async def update(
    object_type: PathObjectType,
    objectId: str,
    body: bodies.PropertiesIn,
    world: CurrentWorld,
    idProperty: IdProperty = None,
) -> Response:
    row = records.read(world, object_type, objectId, idProperty)
    changed = records.update(world, object_type, row, _property_changes(body.properties))
    return Json(serialization.serialize_whole(world, object_type, changed))


async def archive(object_type: PathObjectType, objectId: str, world: CurrentWorld) -> Response:
    records.archive(world, records.read(world, object_type, objectId))
    return no_content()


async def find(object_type: PathObjectType, body: bodies.SearchIn, request: Request, world: CurrentWorld) -> Response:
    result = search.search(world, object_type, _search_request(body))
    return page_response(result.results, result.after, request.scope["path"], total=result.total)


async def batch_read(
    object_type: PathObjectType, body: bodies.BatchReadIn, world: CurrentWorld, archived: Archived = False
) -> Response:
    fields = RequestedFields(tuple(body.properties) or None, tuple(body.propertiesWithHistory))
    ids = [each.id for each in body.inputs]
    return batch_response(world, batches.read(world, object_type, ids, body.idProperty, fields, archived=archived))


async def batch_create(object_type: PathObjectType, body: bodies.BatchCreateIn, world: CurrentWorld) -> Response:
    inputs = [
        NewRecord(_property_changes(each.properties), tuple(_new_associations(each)), each.objectWriteTraceId)
        for each in body.inputs
    ]
    return batch_response(world, batches.create(world, object_type, inputs), 201)


async def batch_update(object_type: PathObjectType, body: bodies.BatchUpdateIn, world: CurrentWorld) -> Response:
    return batch_response(world, batches.update(world, object_type, _list_changed_records(body)))


async def batch_upsert(object_type: PathObjectType, body: bodies.BatchUpdateIn, world: CurrentWorld) -> Response:
    return batch_response(world, batches.upsert(world, object_type, _list_changed_records(body)))


async def batch_archive(object_type: PathObjectType, body: bodies.BatchIdsIn, world: CurrentWorld) -> Response:
    batches.archive(world, object_type, [each.id for each in body.inputs])
    return no_content()


async def merge(object_type: PathObjectType, body: bodies.MergeIn, world: CurrentWorld) -> Response:
    row = merges.merge(world, object_type, body.primaryObjectId, body.objectIdToMerge)
    return Json(serialization.serialize_whole(world, object_type, row))


async def gdpr_delete(object_type: PathObjectType, body: bodies.ForgetIn, world: CurrentWorld) -> Response:
    merges.purge(world, records.read(world, object_type, body.objectId, body.idProperty))
    return no_content()


_LIMITS = "Takes at most 100 inputs."
OPERATIONS = (
    RecordOperation(
        "create", "POST", "/crm/v3/objects/{objectType}", create, bodies.ObjectOut, 201,
        "Create one {record} with the given properties and, if wanted, its associations. Answers with the new record "
        "and its id.{required}",
    ),
    RecordOperation(
        "get", "GET", "/crm/v3/objects/{objectType}/{objectId}", read, bodies.ObjectOut, 200,
        "Read one {record} by its id, or by a unique property named in idProperty. Returns a few default properties "
        "unless `properties` names others; can add past values and the ids of associated records.",
    ),
    RecordOperation(
        "list", "GET", "/crm/v3/objects/{objectType}", page, bodies.ObjectPage, 200,
        "List {records} in the order of their ids, a page at a time. To find particular records use the search "
        "instead.",
    ),
    RecordOperation(
        "update", "PATCH", "/crm/v3/objects/{objectType}/{objectId}", update, bodies.ObjectOut, 200,
        "Change some properties of one {record}; properties not named stay as they are, an empty text clears a value.",
    ),
    RecordOperation(
        "archive", "DELETE", "/crm/v3/objects/{objectType}/{objectId}", archive, None, 204,
        "Move one {record} to the recycling bin. It no longer appears in lists and searches; read it with "
        "archived=true.",
    ),
    RecordOperation(
        "search", "POST", "/crm/v3/objects/{objectType}/search", find, bodies.FoundOut, 200,
        "Search {records} by property values and free text. Filters in a group must all hold, one group is enough. "
        "Sorts by one property, returns at most 200 records a page and 10,000 in all.",
        dependencies=(Depends(refuse_long_body),),
    ),
    RecordOperation(
        "batch_read", "POST", "/crm/v3/objects/{objectType}/batch/read", batch_read, bodies.ObjectBatch, 200,
        f"Read several {{records}} by id or by a unique property. {_LIMITS} Answers 207 if some were not found.",
    ),
    RecordOperation(
        "batch_create", "POST", "/crm/v3/objects/{objectType}/batch/create", batch_create, bodies.ObjectBatch, 201,
        f"Create several {{records}}. {_LIMITS} One invalid input fails the whole batch, unless every input has its "
        "own objectWriteTraceId: then the rest is created and the answer is 207.",
    ),
    RecordOperation(
        "batch_update", "POST", "/crm/v3/objects/{objectType}/batch/update", batch_update, bodies.ObjectBatch, 200,
        f"Change properties of several {{records}}. {_LIMITS} Answers 207 if some were not found.",
    ),
    RecordOperation(
        "batch_upsert", "POST", "/crm/v3/objects/{objectType}/batch/upsert", batch_upsert, bodies.UpsertBatch, 200,
        f"Update the {{records}} that have the given value of a unique property; create those that do not. {_LIMITS}",
    ),
    RecordOperation(
        "batch_archive", "POST", "/crm/v3/objects/{objectType}/batch/archive", batch_archive, None, 204,
        f"Move several {{records}} to the recycling bin. {_LIMITS} Ids that do not exist are passed over.",
    ),
)  # fmt: skip
MERGE = RecordOperation(
    "merge", "POST", "/crm/v3/objects/{objectType}/merge", merge, bodies.ObjectOut, 200,
    "Merge one {record} into another. The primary keeps its values and takes the other's where it has none; "
    "associations and activities move to it, and the other is archived. This cannot be undone.",
)  # fmt: skip
GDPR_DELETE = RecordOperation(
    "gdpr_delete", "POST", "/crm/v3/objects/{objectType}/gdpr-delete", gdpr_delete, None, 204,
    "Delete one {record} and its content permanently, as data protection law demands. This cannot be undone.",
)  # fmt: skip


def _parse_requested_fields(properties: list[str], history: list[str], associations: list[str]) -> RequestedFields:
    return RequestedFields(_split_names(properties) or None, _split_names(history), _split_names(associations))


def _split_names(texts: list[str]) -> tuple[str, ...]:
    """A query lists names by repetition or with commas."""
    return tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))


def _property_changes(properties: Mapping[str, PropertyValue]) -> dict[str, str | None]:
    return {name: as_text(value) for name, value in properties.items()}


def _new_associations(body: bodies.NewIn) -> list[NewAssociation]:
    return [
        NewAssociation(each.to.id, tuple(Spec(spec.associationCategory, spec.associationTypeId) for spec in each.types))
        for each in body.associations
    ]


def _list_changed_records(body: bodies.BatchUpdateIn) -> list[ChangedRecord]:
    return [
        ChangedRecord(each.id, _property_changes(each.properties), each.idProperty, each.objectWriteTraceId)
        for each in body.inputs
    ]


def _search_request(body: bodies.SearchIn) -> SearchRequest:
    groups = [group.filters for group in body.filterGroups]
    if body.filters:
        groups.append(body.filters)
    return SearchRequest(
        groups=tuple(tuple(map(_filter, group)) for group in groups),
        query=body.query,
        sort=_sort(body.sorts[0]) if body.sorts else None,
        properties=tuple(dict.fromkeys(body.properties)) if body.properties else None,
        limit=body.limit,
        after=int(body.after or 0),
    )


def _filter(body: bodies.FilterIn) -> Filter:
    values = None if body.values is None else tuple(body.values)
    return Filter(body.propertyName, body.operator, body.value, values, body.highValue)


def _sort(body: str | bodies.SortIn) -> Sort:
    if isinstance(body, str):
        return Sort(body.removeprefix("-"), descending=body.startswith("-"))
    return Sort(body.propertyName, descending=body.direction == "DESCENDING")


for _object_type in STANDARD:
    register_for_type(router, OPERATIONS, _object_type)
    if _object_type.is_mergeable:
        register_for_type(router, (MERGE,), _object_type)
    if _object_type.name == "contacts":
        register_for_type(router, (GDPR_DELETE,), _object_type)
register(router, OPERATIONS)
