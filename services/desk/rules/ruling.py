"""Rules as they are kept, read once per wording."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
import sqlalchemy as sa

from services.desk.rules.office_hours import Schedule
from services.desk.rules.wording import Conditions
from services.desk.tables import ACCOUNT, account
from services.kernel.changes import AGENTS, AGENTS_JOB
from services.kernel.world import World

# Monday to Friday, 08:00 to 18:00, where the account says nothing.
_USUAL = Schedule(tuple((day * 1440 + 480, day * 1440 + 1080) for day in range(1, 6)))


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a rule does."""

    field: str
    value: Any


@dataclass(frozen=True, slots=True)
class Rule:
    """When these conditions hold, do that."""

    id: int
    title: str
    conditions: Conditions
    actions: tuple[Action, ...]

    def via(self, kind: str) -> dict[str, Any]:
        """Who did it, as audits say it: the rule."""
        named = {"id": self.id, "title": self.title, "deleted": False}
        return {"channel": "rule", "source": {"from": named, "to": {}, "rel": kind}}


@contextmanager
def answered_for(world: World, table: sa.Table, rule: Rule) -> Iterator[None]:
    """Whatever a rule does that the agent wrote or changed is the agent's doing."""
    actor = world.actor
    if any(change.actor in AGENTS for change in world.history(table, rule.id)):
        world.actor = AGENTS_JOB
    try:
        yield
    finally:
        world.actor = actor


def active(world: World, table: sa.Table) -> list[Rule]:
    """In the order in which they have their turn."""
    sql = f"SELECT id, body FROM {table.name} WHERE active = 1 ORDER BY position, id"  # noqa: S608 - our own name
    return [rule_of(key, body) for key, body in world.rows(sql)]


@lru_cache(maxsize=4096)
def rule_of(key: int, text: str) -> Rule:
    body = orjson.loads(text)
    actions = tuple(Action(one["field"], one["value"]) for one in body["actions"])
    return Rule(key, body["title"], Conditions.of(body.get("conditions") or {}), actions)


def schedule(world: World) -> Schedule:
    row = world.get(account, ACCOUNT)
    kept = None if row is None else row["body"].get("schedule")
    return _USUAL if kept is None else _schedule(orjson.dumps(kept))


@lru_cache(maxsize=64)
def _schedule(text: bytes) -> Schedule:
    return Schedule.of(orjson.loads(text))
