"""Who works on a ticket: its group, and one agent of it."""

from services.desk.errors import RecordInvalid
from services.desk.records.payload import Payload
from services.desk.records.people import find_by_email, is_staff
from services.desk.rows import GroupId, UserId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketBody, TicketChanges
from services.desk.tables import group_memberships, groups, users
from services.kernel.documents import equal
from services.kernel.world import World


def assign(world: World, before: TicketBody, payload: Payload) -> TicketChanges:
    """Returns what changes of group and assignee, each brought into line with the other."""
    changes = _read_assignment(world, payload)
    after: TicketBody = {**before, **changes}
    group, assignee = after["group_id"], after["assignee_id"]
    if assignee is None or is_member(world, assignee, group):
        return changes
    if changes.get("assignee_id") is None:
        # A ticket that goes to another group leaves its agent behind.
        return {**changes, "assignee_id": None}
    if changes.get("group_id") is not None:
        raise RecordInvalid("assignee", "Assignee: is not a member of the group")
    return {**changes, "group_id": get_default_group(world, assignee)}


def _read_assignment(world: World, payload: Payload) -> TicketChanges:
    changes: TicketChanges = {}
    if "group_id" in payload:
        changes["group_id"] = _need_group(world, payload["group_id"])
    if payload.get("assignee_email"):
        changes["assignee_id"] = _need_agent(find_by_email(world, payload["assignee_email"]))
    elif "assignee_id" in payload:
        key = payload["assignee_id"]
        changes["assignee_id"] = None if key is None else _need_agent(world.get(users, UserId(key)))
    return changes


def _need_group(world: World, key: int | None) -> GroupId | None:
    if key is None:
        return None
    group = groups.refer(world, GroupId(key), "group_id")
    if group["body"].get("deleted"):
        raise RecordInvalid("group", "Group: is invalid")
    return group["id"]


def _need_agent(user: UserRow | None) -> UserId:
    if user is None or not is_staff(user) or not user["body"]["active"]:
        raise RecordInvalid("assignee", "Assignee: is not an agent")
    return user["id"]


def is_member(world: World, user: UserId, group: GroupId | None) -> bool:
    return group is not None and group_memberships.count_rows(world, equal(user_id=user, group_id=group)) > 0


def get_default_group(world: World, user: UserId) -> GroupId | None:
    """Returns the group that is marked as the agent's default, or else their first."""
    memberships = group_memberships.find(world, equal(user_id=user))
    chosen = next((row for row in memberships if row["body"].get("default")), memberships[0] if memberships else None)
    return None if chosen is None else chosen["body"]["group_id"]
