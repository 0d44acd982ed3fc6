"""Service level policies: which one applies to a ticket, and its targets."""

from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import orjson

from services.desk.rows import SlaPolicyId
from services.desk.rows.rules import SlaPolicyBody
from services.desk.rows.tickets import Metric, PolicySummary, Priority
from services.desk.rules.conditions import Subject, meets
from services.desk.rules.rule_store import cache_read
from services.desk.rules.vocabulary import Conditions
from services.desk.tables import sla_policies
from services.kernel.world import World

METRICS: tuple[Metric, ...] = get_args(Metric)
_ALL = "SELECT id, body FROM sla_policies ORDER BY position, id"


@dataclass(frozen=True, slots=True)
class Target:
    """So many minutes for one metric, by the calendar or within office hours."""

    metric: Metric
    minutes: int
    in_office: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """Targets for the tickets that its filter lets in."""

    id: SlaPolicyId
    title: str
    description: str | None
    filter: Conditions
    targets: tuple[tuple[Priority, Target], ...]

    def targets_of(self, priority: Priority | None) -> dict[Metric, Target]:
        """Returns the targets by metric; a ticket without a priority has none."""
        return {target.metric: target for level, target in self.targets if level == priority}

    def summary(self) -> PolicySummary:
        return {"id": self.id, "title": self.title, "description": self.description}


def find_policy(world: World, subject: Subject) -> Policy | None:
    """Returns the first policy that fits, in their order."""
    policies = cache_read(world, sla_policies, lambda: [parse_policy(key, text) for key, text in world.rows(_ALL)])
    return next((policy for policy in policies if meets(subject, policy.filter)), None)


@lru_cache(maxsize=1024)
def parse_policy(key: SlaPolicyId, text: str) -> Policy:
    body: SlaPolicyBody = orjson.loads(text)
    targets = tuple(
        (promise["priority"], Target(promise["metric"], promise["target"], bool(promise["business_hours"])))
        for promise in body["policy_metrics"]
    )
    return Policy(key, body["title"], body.get("description"), Conditions.from_body(body["filter"]), targets)
