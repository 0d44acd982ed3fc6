"""The scripted solver as what inspect's mock model says next."""

import json

from inspect_ai.model import ModelOutput, ModelUsage

from tests.scripted_provider.scripts import Asked, solver


def solve(messages: list, tools: list) -> ModelOutput:
    answers = tuple(message.text for message in messages if message.role == "tool")
    brief = next(message.text for message in messages if message.role == "user")
    [(tool, arguments)] = solver(Asked(brief, tuple(tool.name for tool in tools), answers, 1)).calls
    output = ModelOutput.for_tool_call("mockllm/model", tool, json.loads(arguments))
    # Without numbers inspect counts tokens itself, with a table that it fetches from the network.
    output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return output
