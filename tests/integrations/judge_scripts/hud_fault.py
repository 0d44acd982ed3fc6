"""Says what HUD makes of a run whose environment fails in the middle, and what its trainer says of that run."""

import asyncio
import json
import os
import signal
import sys

import dayshift
from dayshift.integrations.hud_environment import CAPABILITY, build_environment, build_tasks
from hud import LocalRuntime, Taskset
from hud.agents.base import Agent
from hud.train.client import _to_inputs

victim = int(sys.argv[1])


class Interrupted(Agent):
    async def __call__(self, run):
        office = await run.client.open(CAPABILITY)
        await office.list_tools()
        os.kill(victim, signal.SIGKILL)
        await office.call_tool("crm_contacts_list", {})
        run.trace.content = "It is done."


async def main() -> dict[str, object]:
    tasks = build_tasks(dayshift.tasks("crm/correct-contact", seeds=[3]))
    job = await Taskset("office", tasks).run(Interrupted(), runtime=LocalRuntime(lambda _task: build_environment()))
    [run] = job.runs
    try:
        learned = str(_to_inputs([run]))
    except ValueError as refusal:
        learned = f"refused: {refusal}"
    return {
        "is_error": run.grade.is_error,
        "status": run.trace.status,
        "error": run.trace.error,
        "learned": learned,
    }


print(json.dumps(asyncio.run(main())))
