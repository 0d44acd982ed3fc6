"""Runs the task in inspect_ai; the scripted solver speaks through inspect's mock model."""

import json
import os
import signal
import sys

from inspect_ai.model import get_model

from examples import inspect_eval
from tests.scripted_provider.scripts import Asked, solver

folder, victim = sys.argv[1], int(sys.argv[2])


def answer(messages: list, tools: list, tool_choice: object, config: object) -> ModelOutput:
    answers = tuple(message.text for message in messages if message.role == "tool")
    if victim and answers:
        os.kill(victim, signal.SIGKILL)
    brief = next(message.text for message in messages if message.role == "user")
    [(tool, arguments)] = solver(Asked(brief, tuple(tool.name for tool in tools), answers, 1)).calls
    output = ModelOutput.for_tool_call("mockllm/model", tool, json.loads(arguments))
    # Without numbers inspect counts tokens itself, with a table that it fetches from the network.
    output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return output


model = get_model("mockllm/model", custom_outputs=answer)
log = inspect_eval.run(model, 1 if victim else 2, "train", folder)
scores = [score for sample in log.samples for score in sample.scores.values()]
metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()} if log.results else {}
print(
    json.dumps(
        {
            "status": log.status,
            "described": inspect_eval.describe(log),
            "error": log.error.message if log.error else None,
            "values": [str(score.value) for score in scores],
            "reasons": [score.reason for score in scores],
            "explanations": [score.explanation for score in scores],
            "scored": log.results.scores[0].scored_samples if log.results else None,
            "unscored": log.results.scores[0].unscored_samples if log.results else None,
            "mean": str(metrics.get("mean")),
        }
    )
)
