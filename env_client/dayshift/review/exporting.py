"""Reviews in exports: what a reviewer blames on the harness stays out, and labels go along with the data."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dayshift.review.store import Review, blamed_on_harness
from dayshift.trajectory import Trajectory

BLAMED_ON_HARNESS = "blamed on the harness by a reviewer"


def leave_out_disputed(
    trajectories: Iterable[Trajectory], reviews: Sequence[Review], left_out: Counter[str] | None = None
) -> Iterator[Trajectory]:
    """Leaves out the episodes that a reviewer blames on the harness, and counts them in `left_out`."""
    disputed = blamed_on_harness(reviews)
    for trajectory in trajectories:
        if trajectory.manifest.episode_id not in disputed:
            yield trajectory
        elif left_out is not None:
            left_out[BLAMED_ON_HARNESS] += 1


def write_reviews(reviews: Iterable[Review], output: str | Path) -> Path:
    """Writes `OUTPUT.reviews.jsonl`: rows in the forms of trainers have no room for labels."""
    path = Path(output).with_name(f"{Path(output).name}.reviews.jsonl")
    path.write_text("".join(review.model_dump_json() + "\n" for review in reviews), encoding="utf-8")
    return path
