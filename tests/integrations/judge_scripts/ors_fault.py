"""Says what ORS's own client tells a trainer when the environment fails in the middle of an episode."""

import json
import os
import signal
import sys

from openreward import OpenReward

env = OpenReward(api_key="none").environments.get("officework", base_url=sys.argv[1])
session = env.session(task=env.get_task("train", 0))
with session:
    tools = [tool.name for tool in session.list_tools()]
    refused = session.call_tool("no_such_tool", {})
    os.kill(int(sys.argv[2]), signal.SIGKILL)
    try:
        failure = f"no failure: reward {session.call_tool('finish_work', {}).reward}"
    except Exception as error:  # noqa: BLE001 - its name is the result
        failure = type(error).__name__
print(json.dumps({"tools": tools, "refused": refused.blocks[0].text, "reward": refused.reward, "failure": failure}))
