"""Rules as they are kept, read once per wording."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import orjson
import sqlalchemy as sa

from services.desk.rules.office_hours import Schedule
from services.desk.rules.wording import Conditions
from services.desk.tables import ACCOUNT, account
from services.kernel.changes import AGENTS, AGENTS_JOB
from services.kernel.world import World

# Monday to Friday, 08:00 to 18:00, where the account says nothing.
_USUAL = Schedule(tuple((day * 1440 + 480, day * 1440 + 1080) for day in range(1, 6)))
Kept = TypeVar("Kept")


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


def kept(world: World, table: sa.Table, read: Callable[[], Kept]) -> Kept:
    """What was read of a table, for as long as nobody has written to it: rules are asked for at every turn."""
    place, stamp = f"read of {table.name}", world.written(table)
    held: tuple[Any, Kept] | None = world.beside.get(place)
    if held is None or held[0] != stamp:
        held = world.beside[place] = (stamp, read())
    return held[1]


def active(world: World, table: sa.Table) -> list[Rule]:
    """In the order in which they have their turn."""
    return list(kept(world, table, lambda: _active(world, table)))


def _active(world: World, table: sa.Table) -> tuple[Rule, ...]:
    sql = f"SELECT id, body FROM {table.name} WHERE active = 1 ORDER BY position, id"  # noqa: S608 - our own name
    return tuple(rule_of(key, body) for key, body in world.rows(sql))


@lru_cache(maxsize=4096)
def rule_of(key: int, text: str) -> Rule:
    body = orjson.loads(text)
    actions = tuple(Action(one["field"], one["value"]) for one in body["actions"])
    return Rule(key, body["title"], Conditions.of(body.get("conditions") or {}), actions)


def schedule(world: World) -> Schedule:
    return kept(world, account, lambda: _of_account(world))


def _of_account(world: World) -> Schedule:
    row = world.get(account, ACCOUNT)
    told = None if row is None else row["body"].get("schedule")
    return _USUAL if told is None else _schedule(orjson.dumps(told))


@lru_cache(maxsize=64)
def _schedule(text: bytes) -> Schedule:
    return Schedule.of(orjson.loads(text))
