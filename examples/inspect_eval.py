"""Evaluates a model with inspect_ai from Python; `inspect eval dayshift/office_work` does the same from a shell.

pip install './env_client[inspect]' openai
python examples/inspect_eval.py --model openai/gpt-5 --seeds 20
inspect view --log-dir runs/inspect
"""

import argparse
from pathlib import Path

from dayshift.integrations.inspect_task import office_work
from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog
from inspect_ai.model import Model


def run(model: str | Model, seeds: int, split: str, folder: Path) -> EvalLog:
    [log] = evaluate(office_work(seeds=seeds, split=split), model=model, log_dir=str(folder), display="none")
    return log


def describe(log: EvalLog) -> str:
    if log.results is None:
        return f"{log.status}: {log.error.message if log.error else 'no results'}"
    [score] = log.results.scores
    mean = score.metrics["mean"].value
    return f"mean reward {mean:.3f} of {score.scored_samples} samples, {score.unscored_samples} unscored"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--split", default="test")
    parser.add_argument("--into", type=Path, default=Path("runs/inspect"))
    options = parser.parse_args()
    print(describe(run(options.model, options.seeds, options.split, options.into)))
