"""Writes the rows of a NeMo Gym dataset: one for each instance, with its brief and its tools."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

from dayshift.argument_types import parse_positive
from dayshift.connection import AsyncConnection
from dayshift.episode import AsyncEpisode
from dayshift.integrations.sessions import SPLITS
from dayshift.job_description import first_message, system_prompt
from dayshift.rollout import tasks
from dayshift.tool_surface import DEFAULT_SURFACE
from dayshift.wire import OpenRequest

AGENT = "dayshift_simple_agent"


async def build_rows(
    requests: Iterable[OpenRequest], *, surface: str = DEFAULT_SURFACE, agent: str = AGENT
) -> AsyncIterator[dict[str, Any]]:
    """Opens every instance for a moment to read its brief and its tools."""
    async with AsyncConnection() as connection:
        for request in requests:
            async with await AsyncEpisode.open(request, connection=connection, surface=surface) as episode:
                yield build_row(episode, surface, agent)


def build_row(episode: AsyncEpisode, surface: str, agent: str = AGENT) -> dict[str, Any]:
    request = episode.protocol.request
    conversation = [
        {"role": "system", "content": system_prompt()},
        {"role": "user", "content": first_message(episode.brief, episode.protocol.opened.clock)},
    ]
    functions = [tool["function"] for tool in episode.surface.openai_tools()]
    tools = [{"type": "function", **function, "strict": False} for function in functions]
    return {
        "responses_create_params": {"input": conversation, "tools": tools, "parallel_tool_calls": False},
        "verifier_metadata": {**request.model_dump(exclude={"menu"}), "surface": surface},
        "agent_ref": {"type": "responses_api_agents", "name": agent},
    }


async def write_rows(requests: Iterable[OpenRequest], output: Path, *, surface: str, agent: str) -> int:
    count = 0
    with output.open("w", encoding="utf-8") as file:
        async for row in build_rows(requests, surface=surface, agent=agent):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m dayshift.integrations.nemo_gym_rows", description=__doc__)
    parser.add_argument("--tasks", nargs="+", required=True, help="ids of families")
    parser.add_argument("--seeds", type=parse_positive, default=10, help="instances of each family (default 10)")
    parser.add_argument("--split", choices=SPLITS, default="train")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--surface", default=DEFAULT_SURFACE)
    parser.add_argument("--agent", default=AGENT, help=f"the agent server of your configuration (default {AGENT})")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    chosen = tasks(*options.tasks, seeds=range(options.seeds), split=options.split, world=options.world)
    number = asyncio.run(write_rows(chosen, options.output, surface=options.surface, agent=options.agent))
    print(f"{number} rows in {options.output}")


if __name__ == "__main__":
    main()
