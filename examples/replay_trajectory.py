"""Replay recorded episodes and show the first byte that differs, if one does.

python examples/vector_rollouts.py --into runs/example
python examples/replay_trajectory.py runs/example
"""

import argparse
from pathlib import Path

import dayshift


def main() -> None:
    parser = argparse.ArgumentParser(description="Replay and grade recorded episodes.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=3)
    args = parser.parse_args()
    for trajectory, _ in zip(dayshift.load(args.folder), range(args.most), strict=False):
        result, request = dayshift.verify(trajectory), trajectory.manifest.open
        print(f"{request.task} {request.seed}: {result.steps} steps, identical: {result.identical}")
        if result.difference is not None:
            print(result.difference)
        # `grade` judges calls in a fresh episode, as a trainer does with calls that a model wrote elsewhere.
        verdict = dayshift.grade(request, [step.call for step in trajectory.steps])
        print(f"graded again: {verdict.outcome}, reward {verdict.reward}")


if __name__ == "__main__":
    main()
