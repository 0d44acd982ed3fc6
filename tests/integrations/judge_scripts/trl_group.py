"""Drives the environment class as GRPOTrainer does: a group of one instance, tools as methods, one reward each."""

import inspect
import json

from dayshift import EpisodeMetrics
from dayshift.integrations.trl_environment import build_rows, environment_factory
from dayshift.rollout import tasks
from transformers.utils import get_json_schema

from tests.scripted_provider.scripts import Asked, solver

metrics = EpisodeMetrics(every=0)
factory = environment_factory("crm/correct-contact", metrics=metrics)
[row] = build_rows(tasks("crm/correct-contact", seeds=[3]))
group = [factory() for _ in range(3)]
briefs = [member.reset(**row) for member in group]
assisted = {member._episode.protocol.request.assisted for member in group}
# The first member solves the work, the second leaves it, the third looks only.
answers: list[str] = []
for _ in range(3):
    [(tool, arguments)] = solver(Asked(briefs[0], (), tuple(answers), 1)).calls
    answers.append(getattr(group[0], tool)(**json.loads(arguments)))
group[2].crm_contacts_search(limit=1)
rewards = [member.get_reward() for member in group]
# TRL finds the tools in this way.
methods = [method for name, method in vars(factory).items() if inspect.isfunction(method) and name[0] != "_"]
names = [get_json_schema(method)["function"]["name"] for method in methods]
print(
    json.dumps(
        {
            "rewards": rewards,
            "briefs": len(set(briefs)),
            "assisted": list(assisted),
            "tools": names,
            "metrics": metrics.values(),
        }
    )
)
