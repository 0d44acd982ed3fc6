"""Rules for tests: made as people make them, and a desk with all the company's own."""

from typing import Any

from services.desk import defaults
from services.desk.operations import clock
from services.desk.operations.rule_crud import AUTOMATIONS, SLA_POLICIES, TRIGGERS, RuleKind
from services.desk.operations.tickets import create_ticket, update_ticket
from services.desk.tables import (
    ACCOUNT,
    account,
    audits,
    comments,
    groups,
    metric_events,
    tickets,
    users,
)
from services.kernel.documents import equal
from services.kernel.statements import Row
from services.kernel.world import World
from tests.desk.office import HOUR, LENA, MARA

Body = dict[str, Any]


def condition(field: str, operator: str, value: Any = None) -> Body:
    return {"field": field, "operator": operator, "value": value}


def trigger(
    world: World, actions: list[tuple[str, Any]], *conditions: Body, some: tuple[Body, ...] = (), title: str = "A rule"
) -> Row:
    return _create(world, TRIGGERS, title, actions, conditions, some)


def automation(world: World, actions: list[tuple[str, Any]], *conditions: Body, title: str = "An hourly rule") -> Row:
    return _create(world, AUTOMATIONS, title, actions, conditions, ())


def _create(world: World, rules: RuleKind, title: str, actions: list, conditions: tuple, some: tuple) -> Row:
    bodies = [{"field": field, "value": value} for field, value in actions]
    return rules.create(world, {"title": title, "all": list(conditions), "any": list(some), "actions": bodies})


def policy(
    world: World, metrics: dict[str, int], *conditions: Body, priority: str = "normal", office: bool = False
) -> Row:
    targets = [
        {"priority": priority, "metric": metric, "target": minutes, "business_hours": office}
        for metric, minutes in metrics.items()
    ]
    payload = {"title": "A promise", "filter": {"all": list(conditions)}, "policy_metrics": targets}
    return SLA_POLICIES.create(world, payload)


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
    return create_ticket(world, {"subject": subject, "comment": {"body": text}, **more}, user(world, who)).after


def update(world: World, key: int, who: int = MARA, **fields: Any) -> Row:
    update_ticket(world, key, fields, user(world, who))
    return ticket(world, key)


def say(world: World, key: int, text: str = "Hello.", who: int = MARA, *, public: bool = True, **fields: Any) -> Row:
    return update(world, key, who, comment={"body": text, "public": public}, **fields)


def user(world: World, key: int) -> Row:
    return world.get(users, key)


def ticket(world: World, key: int) -> Row:
    return world.get(tickets, key)


def wait(world: World, hours: float) -> None:
    actor, world.actor = world.actor, "time"
    clock.advance(world, world.clock.now_ms() + round(hours * HOUR))
    world.actor = actor


def audits_of(world: World, key: int) -> list[Row]:
    return audits.find(world, equal(ticket_id=key))


def events_of(world: World, key: int, kind: str = "Notification") -> list[Body]:
    return [event for audit in audits_of(world, key) for event in audit["body"]["events"] if event["type"] == kind]


def comments_of(world: World, key: int) -> list[Body]:
    return [row["body"] for row in comments.find(world, equal(ticket_id=key))]


def steps(world: World, key: int, metric: str) -> list[tuple[str, int]]:
    """The events of a target, each with the minutes since the ticket was created."""
    bodies = [row["body"] for row in metric_events.find(world, equal(ticket_id=key))]
    start = ticket(world, key)["created_at"]
    return [(body["type"], (body["time_at"] - start) // 60_000) for body in bodies if body["metric"] == metric]
