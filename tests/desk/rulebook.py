"""Rules for tests: made as people make them, and a desk with all the company's own."""

from typing import Any

import sqlalchemy as sa

from services.desk import defaults
from services.desk.operations import due, listing, tickets
from services.desk.operations.listing import equal
from services.desk.rules import keeping
from services.desk.tables import (
    ACCOUNT,
    account,
    audits,
    automations,
    comments,
    groups,
    metric_events,
    sla_policies,
    triggers,
    users,
)
from services.desk.tables import tickets as ticket_rows
from services.kernel.statements import Row
from services.kernel.world import World
from tests.desk.office import HOUR, LENA, MARA

Body = dict[str, Any]


def condition(field: str, operator: str, value: Any = None) -> Body:
    return {"field": field, "operator": operator, "value": value}


def trigger(
    world: World, actions: list[tuple[str, Any]], *conditions: Body, some: tuple[Body, ...] = (), title: str = "A rule"
) -> Row:
    return _rule(world, triggers, title, actions, conditions, some)


def automation(world: World, actions: list[tuple[str, Any]], *conditions: Body, title: str = "An hourly rule") -> Row:
    return _rule(world, automations, title, actions, conditions, ())


def _rule(world: World, table: sa.Table, title: str, actions: list, conditions: tuple, some: tuple) -> Row:
    told = [{"field": field, "value": value} for field, value in actions]
    return keeping.create(world, table, {"title": title, "all": list(conditions), "any": list(some), "actions": told})


def policy(
    world: World, metrics: dict[str, int], *conditions: Body, priority: str = "normal", office: bool = False
) -> Row:
    promised = [
        {"priority": priority, "metric": metric, "target": minutes, "business_hours": office}
        for metric, minutes in metrics.items()
    ]
    given = {"title": "A promise", "filter": {"all": list(conditions)}, "policy_metrics": promised}
    return keeping.create(world, sla_policies, given)


def furnish(world: World) -> dict[str, int]:
    """The company's own rules, and the groups that they name; ids by the group's name."""
    ids = {}
    for place, name in enumerate(sorted(defaults.group_names()), 601):
        body = {"name": name, "description": name, "default": False, "is_public": True, "deleted": False}
        world.save(groups, {"id": place, "created_at": 0, "updated_at": 0, "body": body}, "planted")
        ids[name] = place
    for table, rows in defaults.rows(0, ids):
        for row in rows:
            world.save(table, row, "planted")
    row = world.get(account, ACCOUNT)
    world.save(account, {**row, "body": {**row["body"], "schedule": defaults.schedule()}}, "planted")
    return ids


def write_in(world: World, subject: str, text: str = "Please help.", who: int = LENA, **more: Any) -> Row:
    """A customer's new ticket."""
    return tickets.create(world, {"subject": subject, "comment": {"body": text}, **more}, user(world, who)).after


def update(world: World, key: int, who: int = MARA, **given: Any) -> Row:
    tickets.update(world, key, given, user(world, who))
    return ticket(world, key)


def say(world: World, key: int, text: str = "Hello.", who: int = MARA, *, public: bool = True, **given: Any) -> Row:
    return update(world, key, who, comment={"body": text, "public": public}, **given)


def user(world: World, key: int) -> Row:
    return world.get(users, key)


def ticket(world: World, key: int) -> Row:
    return world.get(ticket_rows, key)


def wait(world: World, hours: float) -> None:
    actor, world.actor = world.actor, "time"
    due.advance(world, world.clock.now_ms() + round(hours * HOUR))
    world.actor = actor


def audits_of(world: World, key: int) -> list[Row]:
    return listing.every(world, audits, equal(ticket_id=key))


def events_of(world: World, key: int, kind: str = "Notification") -> list[Body]:
    return [event for audit in audits_of(world, key) for event in audit["body"]["events"] if event["type"] == kind]


def comments_of(world: World, key: int) -> list[Body]:
    return [row["body"] for row in listing.every(world, comments, equal(ticket_id=key))]


def steps(world: World, key: int, metric: str) -> list[tuple[str, int]]:
    """What befell a promise, and after how many minutes of the world's time."""
    found = [row["body"] for row in listing.every(world, metric_events, equal(ticket_id=key))]
    start = ticket(world, key)["created_at"]
    return [(one["type"], (one["time_at"] - start) // 60_000) for one in found if one["metric"] == metric]
