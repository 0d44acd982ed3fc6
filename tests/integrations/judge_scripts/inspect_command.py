"""Runs `inspect eval` with the arguments given; the model `scripted/solver` is inspect's mock model with a solver."""

import sys

from inspect_ai._cli.main import main
from inspect_ai.model import ModelAPI, ModelOutput, modelapi

from tests.integrations.judge_scripts.inspect_solver import solve


def answer(messages: list, tools: list, tool_choice: object, config: object) -> ModelOutput:
    return solve(messages, tools)


@modelapi(name="scripted")
def scripted() -> type[ModelAPI]:
    from inspect_ai.model._providers.mockllm import MockLLM

    class Solver(MockLLM):
        def __init__(self, model_name: str, **options: object) -> None:
            super().__init__(model_name, custom_outputs=answer, **options)

    return Solver


sys.argv[0] = "inspect"
main()
