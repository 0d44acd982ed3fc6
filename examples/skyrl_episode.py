"""Plays an episode through skyrl-gym: the agent's text goes in, observations and the reward come out.

pip install './env_client[skyrl]'
python examples/skyrl_episode.py
"""

import argparse
import json

import skyrl_gym
from scripted_agent import TASK, work
from skyrl_gym.envs.registration import register

register(id="dayshift", entry_point="dayshift.integrations.skyrl:OfficeTextEnv")


def play(seed: int) -> None:
    env = skyrl_gym.make("dayshift", extras={"task": TASK, "seed": seed})
    messages, _ = env.init([])
    agent = work(messages[-1]["content"])
    tool, arguments = next(agent)
    while True:
        call = json.dumps({"name": tool, "arguments": arguments})
        output = env.step(f"<tool_call>{call}</tool_call>")
        if output["done"]:
            break
        answer = output["observations"][0]["content"]
        tool, arguments = agent.send(answer.removeprefix("<tool_response>").removesuffix("</tool_response>"))
    print(f"passed: {env.get_metrics()['passed']}, reward {output['reward']}")
    env.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    play(parser.parse_args().seed)
