"""Plays tasks through HUD: its runtime serves the environment, its client carries the calls, and it grades the runs.

pip install './env_client[hud]'
python examples/hud_rollout.py --seeds 2
"""

import argparse
import asyncio

import dayshift
from dayshift.integrations.hud_environment import CAPABILITY, build_environment, build_tasks
from hud import LocalRuntime, Run, Taskset
from hud.agents.base import Agent
from scripted_agent import TASK, work


class OfficeAgent(Agent):
    """Solves one family without a model; HUD's own agents take the same capability."""

    async def __call__(self, run: Run) -> None:
        office = await run.client.open(CAPABILITY)
        agent = work(run.prompt_text)
        tool, arguments = next(agent)
        while True:
            answer = await office.call_tool(tool, arguments)
            try:
                tool, arguments = agent.send(answer.content[0].text)
            except StopIteration:
                break
        run.trace.content = "It is done."


async def play(seeds: int, group: int) -> None:
    tasks = build_tasks(dayshift.tasks(TASK, seeds=range(seeds)))
    # An environment plays one task at a time, so each run has its own.
    runtime = LocalRuntime(lambda _task: build_environment())
    job = await Taskset("office", tasks).run(OfficeAgent(), runtime=runtime, group=group)
    for run in job.runs:
        # A run without a valid grade is unscored, whatever number stands in its reward.
        print(run.slug, "unscored" if run.grade.is_error else f"{run.grade.info['outcome']}, reward {run.reward}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--group", type=int, default=2, help="runs of each task")
    options = parser.parse_args()
    asyncio.run(play(options.seeds, options.group))
