"""Replay recorded episodes and show the first byte that differs, if one does.

python examples/vector_rollouts.py --into runs/example
python examples/replay_trajectory.py            # or another folder of recordings
"""

import argparse
from pathlib import Path

import dayshift


def main() -> None:
    parser = argparse.ArgumentParser(description="Replay and grade recorded episodes.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/example"), help="default %(default)s")
    parser.add_argument("--most", type=int, default=3, help="episodes to replay (default %(default)s)")
    args = parser.parse_args()
    if not args.folder.exists():
        raise SystemExit(f"there are no recordings in {args.folder}: run examples/vector_rollouts.py first")
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
