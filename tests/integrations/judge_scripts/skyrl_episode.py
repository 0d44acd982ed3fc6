"""Plays an episode through skyrl-gym with the scripted solver, then another whose environment fails."""

import json
import os
import signal
import sys

import skyrl_gym
from skyrl_gym.envs.registration import register

from tests.scripted_provider.scripts import Asked, solver

register(id="dayshift", entry_point="dayshift.integrations.skyrl:OfficeTextEnv")
row = {"task": "crm/correct-contact", "seed": 7}
env = skyrl_gym.make("dayshift", extras=row)
messages, _ = env.init([])
garbled = env.step("<tool_call>{broken</tool_call>")
answers: list[str] = []
done = False
while not done:
    [(tool, arguments)] = solver(Asked(messages[-1]["content"], (), tuple(answers), 1)).calls
    text = json.dumps({"name": tool, "arguments": json.loads(arguments)})
    output = env.step(f"I go on. <tool_call>{text}</tool_call>")
    answers += [observation["content"] for observation in output["observations"]]
    done = output["done"]
result = {"reward": output["reward"], "metrics": env.get_metrics(), "garbled": garbled["observations"][0]["content"]}
env.close()

faulty = skyrl_gym.make("dayshift", extras=row)
faulty.init([])
os.kill(int(sys.argv[1]), signal.SIGKILL)
try:
    faulty.step('<tool_call>{"name": "finish_work", "arguments": {}}</tool_call>')
    result["fault"] = "none"
except Exception as fault:  # noqa: BLE001 - its name is the result
    result["fault"] = [base.__name__ for base in type(fault).__mro__]
print(json.dumps(result))
