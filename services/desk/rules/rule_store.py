"""Triggers and automations as they run: read from their rows once per wording."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import orjson
import sqlalchemy as sa

from services.desk.documents import DeskTable
from services.desk.rows.rules import ActionBody, TriggerBody
from services.desk.rows.tickets import Via
from services.desk.rules.office_hours import Schedule
from services.desk.rules.vocabulary import Conditions
from services.desk.tables import ACCOUNT, account
from services.kernel.changes import AGENTS, AGENTS_JOB
from services.kernel.world import World

# Monday to Friday, 08:00 to 18:00, where the account has no schedule.
_USUAL = Schedule(tuple((day * 1440 + 480, day * 1440 + 1080) for day in range(1, 6)))
RuleTable = DeskTable[Any, TriggerBody]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a rule does."""

    field: str
    value: Any

    @classmethod
    def from_body(cls, body: ActionBody) -> "Action":
        return cls(body["field"], body["value"])


@dataclass(frozen=True, slots=True)
class Rule:
    """When these conditions hold, these actions are done."""

    id: int
    title: str
    conditions: Conditions
    actions: tuple[Action, ...]

    def via(self, kind: str) -> Via:
        """Names the rule as the source of a change, as audits do."""
        source = {"id": self.id, "title": self.title, "deleted": False}
        return {"channel": "rule", "source": {"from": source, "to": {}, "rel": kind}}


@contextmanager
def attribute(world: World, table: RuleTable, rule: Rule) -> Iterator[None]:
    """Attributes what the rule does to the agent, where the agent wrote or changed the rule."""
    actor = world.actor
    if any(change.actor in AGENTS for change in world.history(table, rule.id)):
        world.actor = AGENTS_JOB
    try:
        yield
    finally:
        world.actor = actor


def cache_read(world: World, table: sa.Table, read: Callable[[], Value]) -> Value:
    """Returns what `read` made of a table, for as long as nobody writes to it: every change of a ticket needs rules."""
    place, stamp = f"read of {table.name}", world.last_write(table)
    entry: tuple[Any, Value] | None = world.attachments.get(place)
    if entry is None or entry[0] != stamp:
        entry = world.attachments[place] = (stamp, read())
    return entry[1]


def get_active_rules(world: World, table: RuleTable) -> list[Rule]:
    """Returns the rules in the order in which they run."""
    return list(cache_read(world, table, lambda: _read_active(world, table)))


def _read_active(world: World, table: RuleTable) -> tuple[Rule, ...]:
    sql = f"SELECT id, body FROM {table.name} WHERE active = 1 ORDER BY position, id"  # noqa: S608 - our own name
    return tuple(_parse_rule(key, body) for key, body in world.rows(sql))


@lru_cache(maxsize=4096)
def _parse_rule(key: int, text: str) -> Rule:
    body: TriggerBody = orjson.loads(text)
    actions = tuple(map(Action.from_body, body["actions"]))
    return Rule(key, body["title"], Conditions.from_body(body["conditions"]), actions)


def get_schedule(world: World) -> Schedule:
    """Returns the account's office hours."""
    return cache_read(world, account, lambda: _read_schedule(world))


def _read_schedule(world: World) -> Schedule:
    row = world.get(account, ACCOUNT)
    schedule = None if row is None else row["body"].get("schedule")
    return _USUAL if schedule is None else _parse_schedule(orjson.dumps(schedule))


@lru_cache(maxsize=64)
def _parse_schedule(text: bytes) -> Schedule:
    return Schedule.from_body(orjson.loads(text))
