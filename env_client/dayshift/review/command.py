"""The command `dayshift review`: picks episodes to read, and shows how far reviewers agree."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from dayshift.errors import UsageError
from dayshift.recordings import load
from dayshift.report_text import render_columns
from dayshift.review.agreement import AgreementRow, agreement
from dayshift.review.sampling import Candidate, sample
from dayshift.review.store import TAXONOMY, FileReviewStore, Review, load_reviews
from dayshift.review.taxonomy import DEFAULT_TAXONOMY
from dayshift.trajectory import Trajectory

_HEAD = ("episode", "outcome", "reward", "flags", "steps", "task", "reviewed by")


def review(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    if args.write_taxonomy:
        return _write_taxonomy(folder)
    reviews = load_reviews(folder)
    if args.agreement:
        return _print_agreement(reviews)
    return _print_sample(folder, args.sample, args.seed, reviews, unreviewed_by=args.unreviewed_by)


def _write_taxonomy(folder: Path) -> int:
    path = folder / TAXONOMY
    if path.exists():
        raise UsageError(f"{path} exists already; edit it")
    FileReviewStore(folder).save_taxonomy(DEFAULT_TAXONOMY)
    print(f"{path}: edit its labels and questions; the first nine labels have the keys 1 to 9")
    return 0


def _print_agreement(reviews: list[Review]) -> int:
    result = agreement(reviews)
    if not result["rows"]:
        raise UsageError("no episode was reviewed by two people; give both of them the same sample")
    head = ("first", "second", "subject", "episodes", "agreed", "kappa")
    print(render_columns(head, [_cells(row) for row in result["rows"]]))
    return 0


def _cells(row: AgreementRow) -> tuple[str, ...]:
    kappa = "–" if row["kappa"] is None else f"{row['kappa']:+.2f}"
    return row["first"], row["second"], row["subject"], str(row["episodes"]), str(row["agreed"]), kappa


def _print_sample(folder: Path, size: int, seed: int, reviews: list[Review], *, unreviewed_by: str | None) -> int:
    done = {review.key for review in reviews if review.reviewer == unreviewed_by}
    keys = sample((_candidate(trajectory) for trajectory in _load(folder) if _key(trajectory) not in done), size, seed)
    if not keys:
        raise UsageError(f"there is no recorded episode in {folder} that is left to review")
    places = {key: place for place, key in enumerate(keys)}
    reviewers: dict[str, list[str]] = {}
    for each in reviews:
        reviewers.setdefault(each.key, []).append(each.reviewer)
    # Read again rather than kept: a run may be larger than memory.
    rows = {
        key: _row(trajectory, reviewers.get(key, []))
        for trajectory in _load(folder)
        if (key := _key(trajectory)) in places
    }
    print(render_columns(_HEAD, [rows[key] for key in keys]))
    print(f"\ndayshift view {folder} opens them; `1` to `9` label, `n` writes a note, `?` shows all keys.")
    return 0


def _load(folder: Path) -> Iterator[Trajectory]:
    return load(folder, quarantined=True)


def _key(trajectory: Trajectory) -> str:
    return trajectory.manifest.episode_id


def _candidate(trajectory: Trajectory) -> Candidate:
    verdict = trajectory.verdict
    return {
        "key": _key(trajectory),
        "family": trajectory.manifest.open.task or "free play",
        "outcome": "unscored" if verdict is None else verdict.outcome,
        "flags": [flag.tag for flag in verdict.flags] if verdict else [],
    }


def _row(trajectory: Trajectory, reviewers: Iterable[str]) -> tuple[str, ...]:
    reward = "–" if trajectory.reward is None else f"{trajectory.reward:+.3f}"
    flags = ", ".join(sorted({flag.tag for flag in trajectory.verdict.flags})) if trajectory.verdict else ""
    task = trajectory.manifest.open.task or "free play"
    steps = str(len(trajectory.steps))
    return _key(trajectory), trajectory.ending, reward, flags or "–", steps, task, ", ".join(reviewers) or "–"
