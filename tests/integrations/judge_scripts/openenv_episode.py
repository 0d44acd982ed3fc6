"""Plays one episode with OpenEnv's own client; the scripted solver is the agent."""

import asyncio
import json
import sys

from openenv import GenericEnvClient

from tests.scripted_provider.scripts import Asked, solver


async def main(url: str) -> dict[str, object]:
    async with GenericEnvClient(base_url=url) as env:
        tools = (await env.step({"type": "list_tools"})).observation["tools"]
        opened = await env.reset(task="crm/correct-contact", seed=7, episode_id="mine")
        names, answers = tuple(tool["name"] for tool in tools), []
        refused = await env.step({"tool_name": "no_such_tool", "arguments": {}})
        try:
            await env.step({"wrong": 1})
        except RuntimeError as error:
            invalid = str(error)
        result = refused
        while not result.done:
            [(tool, arguments)] = solver(Asked(opened.observation["brief"], names, tuple(answers), 1)).calls
            result = await env.step({"type": "call_tool", "tool_name": tool, "arguments": json.loads(arguments)})
            answers.append(result.observation["result"])
        return {
            "tools": sorted(tools[0]),
            "task": opened.metadata["task"],
            "unknown_tool": refused.observation["error"]["error_type"],
            "invalid": invalid,
            "state": await env.state(),
            "reward": result.reward,
            "outcome": result.metadata["outcome"],
        }


print(json.dumps(asyncio.run(main(sys.argv[1]))))
