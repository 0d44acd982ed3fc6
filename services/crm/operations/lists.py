"""Lists of records: by hand (MANUAL), by filters (DYNAMIC), or by filters that are evaluated once (SNAPSHOT)."""

from collections.abc import Sequence
from typing import NamedTuple

from services.crm.errors import AlreadyExists, InvalidRequest, RecordNotFound
from services.crm.object_types import ObjectType
from services.crm.operations import list_filters, object_types
from services.crm.operations.records import parse_id, parse_record_id
from services.crm.rows import Body, FilterBranch, ListId, ListRow, MembershipRow, ObjectTypeName, RecordId
from services.crm.tables import list_memberships, lists, membership_id, objects, tables
from services.kernel.clock import iso
from services.kernel.documents import Binder
from services.kernel.statements import select_where
from services.kernel.world import World

_ALL = select_where(lists)
_MEMBERS = (
    "SELECT m.record_id, m.added_at FROM list_memberships m JOIN objects o ON o.id = m.record_id "
    "WHERE m.list_id = :list_id AND o.archived_at IS NULL ORDER BY m.record_id"
)
_LISTS_OF = "SELECT list_id, added_at FROM list_memberships WHERE record_id = ? ORDER BY list_id"
_AUTHOR = "59201174"


class Member(NamedTuple):
    """A record on a list, and since when it has been there."""

    record_id: RecordId
    added_at: int


def create(world: World, request: Body) -> ListRow:
    object_type = object_types.resolve(world, request["objectTypeId"])
    processing_type, branch = request["processingType"], request.get("filterBranch")
    if (branch is None) != (processing_type == "MANUAL"):
        raise InvalidRequest(
            "MANUAL lists take no filterBranch, DYNAMIC and SNAPSHOT lists need one",
            sub_category="ListError.INVALID_FILTER_BRANCH",
        )
    _refuse_taken_name(world, object_type.name, request["name"], None)
    if branch is not None:
        _require_valid(world, object_type, branch)
    now = world.clock.now_ms()
    row: ListRow = {
        "id": ListId(world.ids.next("list")),
        "name": request["name"],
        "kind": object_type.name,
        "processing_type": processing_type,
        "filter_branch": branch,
        "version": 1,
        "created_at": now,
        "updated_at": now,
        "filters_updated_at": now,
        "deleted_at": None,
    }
    world.save(lists, row, "list.created")
    if branch is not None and processing_type == "SNAPSHOT":
        _add_members(world, row, [member.record_id for member in _evaluate(world, object_type, row, branch)])
    return row


def read(world: World, list_id: str) -> ListRow:
    row = _find(world, list_id)
    if row is None or row["deleted_at"] is not None:
        raise _not_found(f"ID {list_id}")
    return row


def find_by_ids(world: World, list_ids: Sequence[str]) -> list[ListRow]:
    rows = [_find(world, list_id) for list_id in dict.fromkeys(list_ids)]
    live = {row["id"]: row for row in rows if row is not None and row["deleted_at"] is None}
    return list(live.values())


def find_by_name(world: World, object_type_name: str, name: str) -> ListRow:
    object_type = object_types.resolve(world, object_type_name)
    for row in _list_live(world):
        if row["kind"] == object_type.name and row["name"] == name:
            return row
    raise _not_found(f"name {name}")


def search(
    world: World,
    query: str,
    list_ids: Sequence[str] | None,
    processing_types: Sequence[str] | None,
    object_type_name: str | None,
) -> list[ListRow]:
    object_type = None if object_type_name is None else object_types.resolve(world, object_type_name)
    wanted_ids = None if list_ids is None else {parse_id(list_id) for list_id in list_ids}
    return [
        row
        for row in _list_live(world)
        if query.lower() in row["name"].lower()
        and (wanted_ids is None or row["id"] in wanted_ids)
        and (not processing_types or row["processing_type"] in processing_types)
        and (object_type is None or row["kind"] == object_type.name)
    ]


def rename(world: World, row: ListRow, name: str) -> ListRow:
    _refuse_taken_name(world, row["kind"], name, row["id"])
    return _save(world, row | {"name": name}, "list.renamed")


def update_filters(world: World, row: ListRow, request: Body) -> ListRow:
    if row["processing_type"] != "DYNAMIC":
        raise InvalidRequest(
            "Only DYNAMIC lists have filters that can be updated", sub_category="ListError.INVALID_PROCESSING_TYPE"
        )
    branch: FilterBranch = request["filterBranch"]
    _require_valid(world, object_types.resolve(world, row["kind"]), branch)
    changed = row | {
        "filter_branch": branch,
        "version": row["version"] + 1,
        "filters_updated_at": world.clock.now_ms(),
    }
    return _save(world, changed, "list.refiltered")


def delete(world: World, row: ListRow) -> None:
    _save(world, row | {"deleted_at": world.clock.now_ms()}, "list.deleted")


def restore(world: World, list_id: str) -> None:
    row = _find(world, list_id)
    if row is None:
        raise _not_found(f"ID {list_id}")
    if row["deleted_at"] is not None:
        _refuse_taken_name(world, row["kind"], row["name"], row["id"])
        _save(world, row | {"deleted_at": None}, "list.restored")


def list_members(world: World, row: ListRow) -> list[Member]:
    """Returns the members in the order of their ids."""
    if row["processing_type"] == "DYNAMIC" and row["filter_branch"] is not None:
        with world.lag_search(tables.tables.__getitem__):
            return _evaluate(world, object_types.resolve(world, row["kind"]), row, row["filter_branch"])
    return [Member(record_id, added_at) for record_id, added_at in world.rows(_MEMBERS, {"list_id": row["id"]})]


def change_members(world: World, row: ListRow, add: Sequence[str], remove: Sequence[str]) -> Body:
    if row["processing_type"] == "DYNAMIC":
        raise InvalidRequest(
            "Members of a DYNAMIC list follow from its filters and cannot be changed by hand",
            sub_category="ListError.INVALID_PROCESSING_TYPE",
        )
    present = {member.record_id for member in list_members(world, row)}
    live = {text: _find_record(world, row["kind"], text) for text in dict.fromkeys((*add, *remove))}
    added = {text: key for text in add if (key := live[text]) is not None and key not in present}
    removed = {text: key for text in remove if (key := live[text]) is not None and key in present}
    _add_members(world, row, list(added.values()))
    for key in removed.values():
        world.remove(list_memberships, membership_id(row["id"], key), "list_membership.removed")
    return {
        "recordsIdsAdded": list(added),
        "recordIdsRemoved": list(removed),
        "recordIdsMissing": [text for text, key in live.items() if key is None],
    }


def clear(world: World, row: ListRow) -> None:
    change_members(world, row, (), [str(member.record_id) for member in list_members(world, row)])


def list_memberships_of(world: World, object_type_name: str, record_id: str) -> list[Body]:
    """Returns the lists that a record is on."""
    object_type = object_types.resolve(world, object_type_name)
    key = _find_record(world, object_type.name, record_id)
    if key is None:
        raise RecordNotFound(f"No {object_type.singular} with ID {record_id} exists, or it has been deleted")
    added_at_by_list = dict(world.rows(_LISTS_OF, (key,)))
    memberships: list[Body] = []
    for row in _list_live(world):
        if row["kind"] != object_type.name:
            continue
        if row["processing_type"] == "DYNAMIC":
            added_at = dict(list_members(world, row)).get(key)
        else:
            added_at = added_at_by_list.get(row["id"])
        if added_at is not None:
            memberships.append(
                {
                    "listId": str(row["id"]),
                    "listVersion": row["version"],
                    "firstAddedTimestamp": iso(added_at),
                    "lastAddedTimestamp": iso(added_at),
                }
            )
    return memberships


def serialize(world: World, row: ListRow, *, filters: bool) -> Body:
    body: Body = {
        "listId": str(row["id"]),
        "name": row["name"],
        "objectTypeId": object_types.type_id(world, row["kind"]),
        "processingType": row["processing_type"],
        "processingStatus": "COMPLETE",
        "listVersion": row["version"],
        "createdById": _AUTHOR,
        "updatedById": _AUTHOR,
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "filtersUpdatedAt": iso(row["filters_updated_at"]),
        "size": len(list_members(world, row)),
    }
    if row["deleted_at"] is not None:
        body["deletedAt"] = iso(row["deleted_at"])
    if filters and row["filter_branch"] is not None:
        body["filterBranch"] = row["filter_branch"]
    return body


def serialize_result(world: World, row: ListRow, property_names: Sequence[str]) -> Body:
    """Serializes a list as a search returns it: extra properties only on demand, and as text."""
    body = serialize(world, row, filters=False)
    extra = {"hs_list_size": str(body.pop("size")), "hs_list_reference_count": "0"}
    return {**body, "additionalProperties": {name: extra[name] for name in property_names if name in extra}}


def _find(world: World, list_id: str) -> ListRow | None:
    key = parse_id(list_id)
    return None if key is None else world.get(lists, ListId(key))


def _not_found(what: str) -> RecordNotFound:
    return RecordNotFound(f"List does not exist with {what}.", sub_category="ListError.LIST_NOT_FOUND")


def _list_live(world: World) -> list[ListRow]:
    return [row for row in world.find(_ALL) if row["deleted_at"] is None]


def _refuse_taken_name(world: World, type_name: ObjectTypeName, name: str, own_id: ListId | None) -> None:
    if any(row["name"] == name and row["kind"] == type_name and row["id"] != own_id for row in _list_live(world)):
        raise AlreadyExists(f"List with name {name} already exists.", sub_category="ListError.DUPLICATE_LIST_NAMES")


def _require_valid(world: World, object_type: ObjectType, branch: FilterBranch) -> None:
    """Refuses a branch that cannot be evaluated now, and not when somebody reads the list."""
    list_filters.compile_branch(world, object_type, Binder(kind=object_type.name), branch)


def _evaluate(world: World, object_type: ObjectType, row: ListRow, branch: FilterBranch) -> list[Member]:
    binder = Binder(kind=object_type.name, since=row["filters_updated_at"])
    where = list_filters.compile_branch(world, object_type, binder, branch)
    sql = (
        "SELECT o.id, max(o.created_at, min(o.updated_at, :since)) FROM objects o "  # noqa: S608 - bound
        f"WHERE o.kind = :kind AND o.archived_at IS NULL AND {where} ORDER BY o.id"
    )
    return [Member(record_id, since) for record_id, since in world.rows(sql, binder.parameters)]


def _find_record(world: World, type_name: ObjectTypeName, record_id: str) -> RecordId | None:
    """Returns the id of a live record of the type."""
    key = parse_record_id(record_id)
    row = None if key is None else world.get(objects, key)
    return None if row is None or row["kind"] != type_name or row["archived_at"] is not None else row["id"]


def _add_members(world: World, row: ListRow, record_ids: Sequence[RecordId]) -> None:
    now = world.clock.now_ms()
    for record_id in record_ids:
        member: MembershipRow = {
            "id": membership_id(row["id"], record_id),
            "list_id": row["id"],
            "record_id": record_id,
            "added_at": now,
        }
        world.save(list_memberships, member, "list_membership.added")


def _save(world: World, row: ListRow, event: str) -> ListRow:
    changed = row | {"updated_at": world.clock.now_ms()}
    world.save(lists, changed, event)
    return changed
