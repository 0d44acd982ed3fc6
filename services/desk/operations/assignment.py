"""Who works on a ticket: its group, and one agent of it."""

from services.desk.errors import RecordInvalid
from services.desk.operations import callers, listing, records
from services.desk.operations.listing import equal
from services.desk.operations.records import Body, Given
from services.desk.tables import group_memberships, groups, users
from services.kernel.statements import Row
from services.kernel.world import World


def assigned(world: World, before: Body, given: Given) -> Body:
    """What of group and assignee changes, each brought into line with the other."""
    changes = _wanted(world, given)
    group, assignee = ({**before, **changes}.get(name) for name in ("group_id", "assignee_id"))
    if assignee is None or is_member(world, assignee, group):
        return changes
    if changes.get("assignee_id") is None:
        # A ticket that goes to another group leaves its agent behind.
        return {**changes, "assignee_id": None}
    if changes.get("group_id") is not None:
        raise RecordInvalid("assignee", "Assignee: is not a member of the group")
    return {**changes, "group_id": default_group(world, assignee)}


def _wanted(world: World, given: Given) -> Body:
    changes: Body = {}
    if "group_id" in given:
        changes["group_id"] = _group(world, given["group_id"])
    if given.get("assignee_email"):
        changes["assignee_id"] = _agent(callers.by_email(world, given["assignee_email"]))
    elif "assignee_id" in given:
        key = given["assignee_id"]
        changes["assignee_id"] = None if key is None else _agent(world.get(users, key))
    return changes


def _group(world: World, key: int | None) -> int | None:
    if key is None:
        return None
    group = records.refer(world, groups, key, "group_id")
    if group["body"].get("deleted"):
        raise RecordInvalid("group", "Group: is invalid")
    return int(group["id"])


def _agent(user: Row | None) -> int:
    if user is None or not callers.is_staff(user) or not user["body"]["active"]:
        raise RecordInvalid("assignee", "Assignee: is not an agent")
    return int(user["id"])


def is_member(world: World, user: int, group: int | None) -> bool:
    return group is not None and bool(listing.count(world, group_memberships, equal(user_id=user, group_id=group)))


def default_group(world: World, user: int) -> int | None:
    found = listing.every(world, group_memberships, equal(user_id=user))
    chosen = next((row for row in found if row["body"].get("default")), found[0] if found else None)
    return None if chosen is None else int(chosen["body"]["group_id"])
