"""What is sent along with tickets when `include` asks for it."""

from typing import Any

from services.desk.operations import listing, measures_shown, showing
from services.desk.operations.showing import Shown
from services.desk.tables import groups, organizations, users
from services.kernel.statements import Row
from services.kernel.world import World

_PEOPLE = ("requester_id", "submitter_id", "assignee_id")
_COMMENT_COUNTS = (
    "SELECT ticket_id, count(*) FROM comments WHERE ticket_id IN (SELECT value FROM json_each(:ids)) GROUP BY ticket_id"
)
_INCIDENT_COUNTS = (
    "SELECT problem_id, count(*) FROM tickets WHERE problem_id IN (SELECT value FROM json_each(:ids)) "
    "AND deleted_at IS NULL GROUP BY problem_id"
)


def tickets(world: World, rows: list[Row], include: frozenset[str], base: str) -> tuple[list[Shown], dict[str, Any]]:
    """The tickets as shown, and what goes beside them."""
    shown = showing.tickets(rows, base)
    if not include:
        return shown, {}
    _counted(world, shown, include)
    return shown, around(world, rows, include, base)


def around(world: World, rows: list[Row], include: frozenset[str], base: str) -> dict[str, Any]:
    beside: dict[str, Any] = {}
    if "users" in include:
        beside["users"] = people(world, [row["body"].get(name) for row in rows for name in _PEOPLE], base)
    if "groups" in include:
        found = listing.by_ids(world, groups, _named(rows, "group_id"))
        beside["groups"] = showing.many("group", found, base)
    if "organizations" in include:
        found = listing.by_ids(world, organizations, _named(rows, "organization_id"))
        beside["organizations"] = showing.many("organization", found, base)
    if "metric_sets" in include:
        beside["metric_sets"] = [measures_shown.ticket_metric(row, base) for row in rows]
    return beside


def people(world: World, ids: list[int | None], base: str) -> list[Shown]:
    wanted = [one for one in dict.fromkeys(ids) if one is not None and one > 0]
    return showing.many("user", listing.by_ids(world, users, wanted), base)


def _named(rows: list[Row], field: str) -> list[int]:
    return [one for one in dict.fromkeys(row["body"].get(field) for row in rows) if one is not None]


def _counted(world: World, shown: list[Shown], include: frozenset[str]) -> None:
    for name, statement in (("comment_count", _COMMENT_COUNTS), ("incident_counts", _INCIDENT_COUNTS)):
        if name in include:
            ids = str([one["id"] for one in shown])
            counts = dict(world.rows(statement, {"ids": ids}))
            for one in shown:
                one[name.replace("counts", "count")] = counts.get(one["id"], 0)
