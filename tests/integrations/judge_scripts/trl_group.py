"""Drives the environment class as GRPOTrainer does: a group of instances, tools as methods, one reward each."""

import json
import os
import signal
import sys

from dayshift.integrations.trl_environment import build_rows, environment_factory
from dayshift.rollout import tasks
from transformers.utils import get_json_schema

from tests.scripted_provider.scripts import Asked, solver

victim = int(sys.argv[1])
factory = environment_factory("crm/correct-contact")
[row] = build_rows(tasks("crm/correct-contact", seeds=[3]))
group = [factory() for _ in range(3)]
briefs = [member.reset(**row) for member in group]
# The first member solves the work, the second leaves it, the third's environment fails.
answers: list[str] = []
for _ in range(3):
    [(tool, arguments)] = solver(Asked(briefs[0], (), tuple(answers), 1)).calls
    answers.append(getattr(group[0], tool)(**json.loads(arguments)))
rewards = [group[0].get_reward(), group[1].get_reward()]
if victim:
    os.kill(victim, signal.SIGKILL)
group[2].crm_contacts_search(limit=1)
rewards.append(group[2].get_reward())
names = [get_json_schema(getattr(factory, name))["function"]["name"] for name in vars(factory) if name[0] != "_"]
print(json.dumps({"rewards": rewards, "briefs": len(set(briefs)), "tools": names}))
