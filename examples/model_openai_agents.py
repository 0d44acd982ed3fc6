"""An agent of the OpenAI Agents SDK works.

OPENAI_API_KEY=… python examples/model_openai_agents.py --model gpt-5
"""

import argparse
import asyncio

import dayshift
from agents import Agent, FunctionTool, Runner, set_tracing_disabled
from agents.tool_context import ToolContext
from dayshift import job_description


async def main() -> None:
    parser = argparse.ArgumentParser(description="Correct a contact with the OpenAI Agents SDK.")
    parser.add_argument("--model", default="gpt-5")
    parser.add_argument("--world", default="standard")
    options = parser.parse_args()
    set_tracing_disabled(True)
    opening = dayshift.AsyncEpisode.open("crm/correct-contact", seed=8, world=options.world, surface="core")
    async with await opening as episode:

        async def call(context: ToolContext, arguments: str) -> str:
            return await episode.surface.call(episode, context.tool_name, arguments)

        tools = [
            FunctionTool(tool["name"], tool["description"], tool["parameters"], call, strict_json_schema=False)
            for tool in (tool["function"] for tool in episode.surface.openai_tools())
        ]
        agent = Agent("operations", instructions=job_description.TEXT, model=options.model, tools=tools)
        await Runner.run(agent, episode.brief, max_turns=episode.steps_left)
        verdict = await episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


if __name__ == "__main__":
    asyncio.run(main())
