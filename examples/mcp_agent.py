"""Works through an MCP endpoint with nothing but the standard library; its input is the task's text.

python examples/mcp_agent.py http://office:8720/mcp <instruction.md
"""

import json
import sys
import urllib.request

from scripted_agent import work


def call(url: str, number: int, tool: str, arguments: dict[str, object]) -> str:
    """Returns the text of the tool's answer."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)  # noqa: S310 - the task names it
    with urllib.request.urlopen(request, timeout=120) as response:  # noqa: S310
        return json.load(response)["result"]["content"][0]["text"]


def main(url: str, instruction: str) -> None:
    agent = work(instruction)
    calls, (tool, arguments) = 0, next(agent)
    while True:
        answer = call(url, calls, tool, arguments)
        calls += 1
        try:
            tool, arguments = agent.send(answer)
        except StopIteration:
            break
    print(f"{calls} calls")


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.read())
