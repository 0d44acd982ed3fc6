"""Plays an episode through OpenEnv's own client, against the OpenEnv server of a running stack.

pip install './env_client[openenv]' openenv
python -m dayshift.integrations.openenv --task crm/correct-contact --port 8000
python examples/openenv_client.py --url http://127.0.0.1:8000
"""

import argparse
import asyncio

from openenv import GenericEnvClient
from scripted_agent import TASK, work


async def play(url: str, seed: int) -> None:
    async with GenericEnvClient(base_url=url) as env:
        brief = (await env.reset(task=TASK, seed=seed)).observation["brief"]
        print(brief)
        agent = work(brief)
        tool, arguments = next(agent)
        while not (answer := await env.step({"tool_name": tool, "arguments": arguments})).done:
            tool, arguments = agent.send(answer.observation["result"])
        print(f"{answer.metadata['outcome']}, reward {answer.reward}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    asyncio.run(play(options.url, options.seed))
