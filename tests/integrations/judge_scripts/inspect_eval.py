"""Runs the task in inspect_ai; the scripted solver speaks through inspect's mock model."""

import json
import os
import signal
import sys

from inspect_ai.model import ModelOutput, get_model

from examples import inspect_eval
from tests.integrations.judge_scripts.inspect_solver import solve

folder, victim = sys.argv[1], int(sys.argv[2])


def answer(messages: list, tools: list, tool_choice: object, config: object) -> ModelOutput:
    if victim and any(message.role == "tool" for message in messages):
        os.kill(victim, signal.SIGKILL)
    return solve(messages, tools)


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
