"""Play a recorded episode again: every byte is the same, or the first difference is shown.

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
    chosen = parser.parse_args()
    for trajectory, _ in zip(dayshift.load(chosen.folder), range(chosen.most), strict=False):
        proof = dayshift.verify(trajectory)
        print(
            f"{trajectory.manifest.open.task} {trajectory.manifest.open.seed}: {proof.steps} steps, same: {proof.holds}"
        )
        if proof.difference is not None:
            print(proof.difference)
        # The same calls, judged in a fresh episode: what a trainer does with calls that a model wrote elsewhere.
        verdict = dayshift.grade(trajectory.manifest.open, [step.call for step in trajectory.steps])
        print(f"graded again: {verdict.outcome}, reward {verdict.reward}")


if __name__ == "__main__":
    main()
