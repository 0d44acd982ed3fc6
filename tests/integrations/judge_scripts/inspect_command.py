"""Runs `inspect eval` with the arguments given; the model `scripted/solver` is inspect's mock model with a solver."""

import json
import sys

from inspect_ai._cli.main import main
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

from tests.scripted_provider.scripts import Asked, solver


def answer(messages: list, tools: list, tool_choice: object, config: object) -> ModelOutput:
    answers = tuple(message.text for message in messages if message.role == "tool")
    brief = next(message.text for message in messages if message.role == "user")
    [(tool, arguments)] = solver(Asked(brief, tuple(tool.name for tool in tools), answers, 1)).calls
    output = ModelOutput.for_tool_call("scripted/solver", tool, json.loads(arguments))
    # Without numbers inspect counts tokens itself, with a table that it fetches from the network.
    output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return output


@modelapi(name="scripted")
def scripted() -> type[ModelAPI]:
    from inspect_ai.model._providers.mockllm import MockLLM

    class Solver(MockLLM):
        def __init__(self, model_name: str, **options: object) -> None:
            super().__init__(model_name, custom_outputs=answer, **options)

    return Solver


sys.argv[0] = "inspect"
main()
