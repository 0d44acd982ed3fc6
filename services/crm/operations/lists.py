"""Lists of records: by hand (MANUAL), by filters (DYNAMIC), or by filters once (SNAPSHOT)."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from services.crm.errors import AlreadyExists, InvalidRequest, RecordNotFound
from services.crm.kinds import Kind
from services.crm.operations import list_filters, object_types
from services.crm.operations.conditions import Binder
from services.crm.operations.records import number
from services.crm.tables import list_memberships, lists, membership_id, objects, tables
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_ALL = Statement(sa.select(lists).order_by(lists.c.id))
_MEMBERS = (
    "SELECT m.record_id, m.added_at FROM list_memberships m JOIN objects o ON o.id = m.record_id "
    "WHERE m.list_id = :list_id AND o.archived_at IS NULL ORDER BY m.record_id"
)
_LISTS_OF = "SELECT list_id, added_at FROM list_memberships WHERE record_id = ? ORDER BY list_id"
_AUTHOR = "59201174"
MOST_AT_ONCE = 1000


def create(world: World, given: Mapping[str, Any]) -> Row:
    kind = object_types.resolve(world, given["objectTypeId"])
    processing, branch = given["processingType"], given.get("filterBranch")
    if (branch is None) != (processing == "MANUAL"):
        raise InvalidRequest(
            "MANUAL lists take no filterBranch, DYNAMIC and SNAPSHOT lists need one",
            sub_category="ListError.INVALID_FILTER_BRANCH",
        )
    _refuse_name(world, kind, given["name"], None)
    if branch is not None:
        _check(world, kind, branch)
    now = world.clock.now_ms()
    row: Row = {
        "id": world.ids.next("list"),
        "name": given["name"],
        "kind": kind.name,
        "processing_type": processing,
        "filter_branch": branch,
        "version": 1,
        "created_at": now,
        "updated_at": now,
        "filters_updated_at": now,
        "deleted_at": None,
    }
    world.save(lists, row, "list.created")
    if processing == "SNAPSHOT":
        _enrol(world, row, [record_id for record_id, _ in _found(world, kind, row)])
    return row


def read(world: World, list_id: str) -> Row:
    key = number(list_id)
    row = None if key is None else world.get(lists, key)
    if row is None or row["deleted_at"] is not None:
        raise RecordNotFound(f"List does not exist with ID {list_id}.", sub_category="ListError.LIST_NOT_FOUND")
    return row


def by_ids(world: World, list_ids: Sequence[str]) -> list[Row]:
    keys = dict.fromkeys(key for one in list_ids if (key := number(one)) is not None)
    rows = [world.get(lists, key) for key in keys]
    return [row for row in rows if row is not None and row["deleted_at"] is None]


def by_name(world: World, object_type: str, name: str) -> Row:
    kind = object_types.resolve(world, object_type)
    for row in _live(world):
        if row["kind"] == kind.name and row["name"] == name:
            return row
    raise RecordNotFound(f"List does not exist with name {name}.", sub_category="ListError.LIST_NOT_FOUND")


def find(
    world: World, query: str, ids: Sequence[str] | None, processing: Sequence[str] | None, object_type: str | None
) -> list[Row]:
    kind = None if object_type is None else object_types.resolve(world, object_type)
    wanted = None if ids is None else {number(one) for one in ids}
    return [
        row
        for row in _live(world)
        if query.lower() in row["name"].lower()
        and (wanted is None or row["id"] in wanted)
        and (not processing or row["processing_type"] in processing)
        and (kind is None or row["kind"] == kind.name)
    ]


def rename(world: World, row: Row, name: str) -> Row:
    _refuse_name(world, object_types.resolve(world, row["kind"]), name, row["id"])
    return _save(world, {**row, "name": name}, "list.renamed")


def refilter(world: World, row: Row, branch: Mapping[str, Any]) -> Row:
    if row["processing_type"] != "DYNAMIC":
        raise InvalidRequest(
            "Only DYNAMIC lists have filters that can be updated", sub_category="ListError.INVALID_PROCESSING_TYPE"
        )
    _check(world, object_types.resolve(world, row["kind"]), branch)
    changed = {**row, "filter_branch": branch, "version": row["version"] + 1}
    return _save(world, {**changed, "filters_updated_at": world.clock.now_ms()}, "list.refiltered")


def delete(world: World, row: Row) -> None:
    _save(world, {**row, "deleted_at": world.clock.now_ms()}, "list.deleted")


def restore(world: World, list_id: str) -> None:
    key = number(list_id)
    row = None if key is None else world.get(lists, key)
    if row is None:
        raise RecordNotFound(f"List does not exist with ID {list_id}.", sub_category="ListError.LIST_NOT_FOUND")
    if row["deleted_at"] is not None:
        _refuse_name(world, object_types.resolve(world, row["kind"]), row["name"], row["id"])
        _save(world, {**row, "deleted_at": None}, "list.restored")


def members(world: World, row: Row) -> list[tuple[int, int]]:
    """(record, since when), in the order of ids."""
    if row["processing_type"] == "DYNAMIC":
        with world.searched(tables.tables.__getitem__):
            return _found(world, object_types.resolve(world, row["kind"]), row)
    return [(record_id, added) for record_id, added in world.rows(_MEMBERS, {"list_id": row["id"]})]


def change_members(world: World, row: Row, add: Sequence[str], remove: Sequence[str]) -> Row:
    if row["processing_type"] == "DYNAMIC":
        raise InvalidRequest(
            "Members of a DYNAMIC list follow from its filters and cannot be changed by hand",
            sub_category="ListError.INVALID_PROCESSING_TYPE",
        )
    present = {record_id for record_id, _ in members(world, row)}
    known = {one: _record(world, row, one) for one in dict.fromkeys((*add, *remove))}
    added = [one for one in dict.fromkeys(add) if known[one] is not None and known[one] not in present]
    removed = [one for one in dict.fromkeys(remove) if known[one] is not None and known[one] in present]
    _enrol(world, row, [key for one in added if (key := known[one]) is not None])
    for one in removed:
        world.remove(list_memberships, membership_id(row["id"], known[one] or 0), "list_membership.removed")
    return {
        "recordsIdsAdded": added,
        "recordIdsRemoved": removed,
        "recordIdsMissing": [one for one, key in known.items() if key is None],
    }


def clear(world: World, row: Row) -> None:
    change_members(world, row, (), [str(record_id) for record_id, _ in members(world, row)])


def memberships_of(world: World, object_type: str, record_id: str) -> list[Row]:
    kind = object_types.resolve(world, object_type)
    key = number(record_id)
    row = None if key is None else world.get(objects, key)
    if row is None or row["kind"] != kind.name or row["archived_at"] is not None:
        raise RecordNotFound(f"No {kind.singular} with ID {record_id} exists, or it has been deleted")
    joined = dict(world.rows(_LISTS_OF, (key,)))
    found = []
    for one in _live(world):
        if one["kind"] != kind.name:
            continue
        dynamic = one["processing_type"] == "DYNAMIC"
        since = dict(members(world, one)).get(row["id"]) if dynamic else joined.get(one["id"])
        if since is not None:
            told = {"firstAddedTimestamp": iso(since), "lastAddedTimestamp": iso(since)}
            found.append({"listId": str(one["id"]), "listVersion": one["version"], **told})
    return found


def show(world: World, row: Row, *, filters: bool) -> Row:
    shown: Row = {
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
        "size": len(members(world, row)),
    }
    if row["deleted_at"] is not None:
        shown["deletedAt"] = iso(row["deleted_at"])
    if filters and row["filter_branch"] is not None:
        shown["filterBranch"] = row["filter_branch"]
    return shown


def show_found(world: World, row: Row, asked: Sequence[str]) -> Row:
    """As a search shows it: extra properties only on demand, and as text."""
    shown = show(world, row, filters=False)
    size = shown.pop("size")
    extra = {"hs_list_size": str(size), "hs_list_reference_count": "0"}
    return {**shown, "additionalProperties": {name: extra[name] for name in asked if name in extra}}


def _live(world: World) -> list[Row]:
    return [row for row in world.find(_ALL) if row["deleted_at"] is None]


def _refuse_name(world: World, kind: Kind, name: str, own: int | None) -> None:
    if any(row["name"] == name and row["kind"] == kind.name and row["id"] != own for row in _live(world)):
        raise AlreadyExists(f"List with name {name} already exists.", sub_category="ListError.DUPLICATE_LIST_NAMES")


def _check(world: World, kind: Kind, branch: Mapping[str, Any]) -> None:
    """A branch that cannot be evaluated is refused now, not when somebody looks at the list."""
    list_filters.matches(world, kind, Binder(kind=kind.name), branch)


def _found(world: World, kind: Kind, row: Row) -> list[tuple[int, int]]:
    binder = Binder(kind=kind.name, since=row["filters_updated_at"])
    where = list_filters.matches(world, kind, binder, row["filter_branch"])
    sql = (
        "SELECT o.id, max(o.created_at, min(o.updated_at, :since)) FROM objects o "  # noqa: S608 - bound
        f"WHERE o.kind = :kind AND o.archived_at IS NULL AND {where} ORDER BY o.id"
    )
    return [(record_id, since) for record_id, since in world.rows(sql, binder.parameters)]


def _record(world: World, row: Row, record_id: str) -> int | None:
    key = number(record_id)
    found = None if key is None else world.get(objects, key)
    return None if found is None or found["kind"] != row["kind"] or found["archived_at"] is not None else key


def _enrol(world: World, row: Row, record_ids: Sequence[int]) -> None:
    now = world.clock.now_ms()
    for record_id in record_ids:
        key = membership_id(row["id"], record_id)
        member: Row = {"id": key, "list_id": row["id"], "record_id": record_id, "added_at": now}
        world.save(list_memberships, member, "list_membership.added")


def _save(world: World, row: Row, event: str) -> Row:
    changed = {**row, "updated_at": world.clock.now_ms()}
    world.save(lists, changed, event)
    return changed
