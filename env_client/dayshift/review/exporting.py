"""Reviews in exports: what a reviewer blames on the harness stays out, and labels go along with the data."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dayshift.control_client import ControlClient
from dayshift.errors import ControlRefused
from dayshift.http_flow import HttpFlow
from dayshift.redaction import Redactor
from dayshift.review.store import Review, find_blamed_on_harness
from dayshift.trajectory import Trajectory

BLAMED_ON_HARNESS = "blamed on the harness by a reviewer"
_NOT_FOUND = 404


def fetch_ledger_reviews(control: ControlClient) -> HttpFlow[list[Review]]:
    """What people saved in the console, in the order of saving; a stack of an older version has none for exports."""
    reviews: list[Review] = []
    after: int | None = 0
    while after is not None:
        try:
            page = yield from control.reviews(after)
        except ControlRefused as refused:
            if refused.status == _NOT_FOUND:
                return []
            raise
        reviews += map(Review.model_validate, page.reviews)
        after = page.next
    return reviews


def leave_out_disputed(
    trajectories: Iterable[Trajectory], reviews: Sequence[Review], left_out: Counter[str] | None = None
) -> Iterator[Trajectory]:
    """Leaves out the episodes that a reviewer blames on the harness, and counts them in `left_out`."""
    disputed = find_blamed_on_harness(reviews)
    for trajectory in trajectories:
        if trajectory.manifest.episode_id not in disputed:
            yield trajectory
        elif left_out is not None:
            left_out[BLAMED_ON_HARNESS] += 1


def redact_reviews(reviews: Iterable[Review], redactor: Redactor | None = None) -> list[Review]:
    """Reviewers become persons by number, the same one throughout; their notes lose what is personal."""
    redactor = redactor or Redactor()
    return [
        review.model_copy(update=redactor.value({"reviewer": review.reviewer, "note": review.note}))
        for review in reviews
    ]


def write_reviews(reviews: Iterable[Review], output: str | Path) -> Path:
    """Writes `OUTPUT.reviews.jsonl`: rows in the forms of trainers have no room for labels."""
    path = Path(output).with_name(f"{Path(output).name}.reviews.jsonl")
    path.write_text("".join(review.model_dump_json() + "\n" for review in reviews), encoding="utf-8")
    return path
