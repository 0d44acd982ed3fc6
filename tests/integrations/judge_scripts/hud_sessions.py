"""Starts tasks in one environment of HUD: a second beside the first, and one after its client has left without a word."""

import asyncio
import json

import dayshift
from dayshift.integrations.hud_environment import CAPABILITY, build_environment, build_tasks
from hud import LocalRuntime, connect
from hud.clients import HudProtocolError

[task] = build_tasks(dayshift.tasks("crm/correct-contact", seeds=[3]), surface="task(2)")


async def start_when_free(client) -> int:
    """Returns how often it was refused."""
    for refused in range(200):
        try:
            await client.start_task(task.id, task.args)
            return refused
        except HudProtocolError:
            await asyncio.sleep(0.05)
    raise TimeoutError("the lease did not end")


async def main() -> dict[str, object]:
    async with LocalRuntime(build_environment(lease_seconds=2.0))(task) as runtime:
        async with connect(runtime) as first, connect(runtime) as second:
            started = await first.start_task(task.id, task.args)
            tools = [tool.name for tool in await (await first.open(CAPABILITY)).list_tools()]
            try:
                await second.start_task(task.id, task.args)
                refusal = "none"
            except HudProtocolError as refused:
                refusal = str(refused)
        async with connect(runtime) as third:
            refused = await start_when_free(third)
        # It leaves without a word, too: the end of the environment closes its episode.
    return {"prompt": len(started["prompt"]), "tools": tools, "refusal": refusal, "refused": refused}


print(json.dumps(asyncio.run(main())))
