"""Service level policies: which one a ticket falls under, and what it promises."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from services.desk.rules import ruling
from services.desk.rules.conditions import Subject, meets
from services.desk.rules.wording import Conditions
from services.desk.tables import sla_policies
from services.kernel.world import World

METRICS = (
    "agent_work_time",
    "first_reply_time",
    "next_reply_time",
    "pausable_update_time",
    "periodic_update_time",
    "requester_wait_time",
    "total_resolution_time",
)
_ALL = "SELECT id, body FROM sla_policies ORDER BY position, id"


@dataclass(frozen=True, slots=True)
class Target:
    """So many minutes for one metric, by the calendar or within office hours."""

    metric: str
    minutes: int
    in_office: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """Promises to those tickets that its filter lets in."""

    id: int
    title: str
    description: str | None
    filter: Conditions
    targets: tuple[tuple[str, Target], ...]

    def at(self, priority: str | None) -> dict[str, Target]:
        """By metric; a ticket without a priority was promised nothing."""
        return {target.metric: target for level, target in self.targets if level == priority}

    def told(self) -> dict[str, Any]:
        return {"id": self.id, "title": self.title, "description": self.description}


def matching(world: World, subject: Subject) -> Policy | None:
    """The first that fits, in their order."""
    policies = ruling.kept(world, sla_policies, lambda: [policy_of(key, text) for key, text in world.rows(_ALL)])
    return next((policy for policy in policies if meets(subject, policy.filter)), None)


@lru_cache(maxsize=1024)
def policy_of(key: int, text: str) -> Policy:
    body = orjson.loads(text)
    targets = tuple(
        (one["priority"], Target(one["metric"], one["target"], bool(one["business_hours"])))
        for one in body["policy_metrics"]
    )
    return Policy(key, body["title"], body.get("description"), Conditions.of(body["filter"]), targets)
