"""Says what OpenEnv's own client tells a trainer when the environment fails in the middle of an episode."""

import asyncio
import json
import os
import signal
import sys

from openenv import GenericEnvClient


async def main(url: str, victim: int) -> list[str]:
    failures: list[str] = []
    async with GenericEnvClient(base_url=url) as env:
        await env.reset(task="crm/correct-contact", seed=7)
        os.kill(victim, signal.SIGKILL)
        for tool in ("crm_contacts_list", "finish_work"):
            try:
                result = await env.step({"tool_name": tool, "arguments": {}})
                failures.append(f"no failure: reward {result.reward}")
            except RuntimeError as error:
                failures.append(str(error))
    return failures


print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2])))))
