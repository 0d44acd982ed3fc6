"""The command `dayshift export`."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from dayshift.connection import Address, Connection
from dayshift.discovery import discover_operations
from dayshift.errors import UsageError
from dayshift.export import BUILDERS, describe_left_out, with_object_arguments, write_rows
from dayshift.recordings import load
from dayshift.redacted_trajectory import redact_trajectory
from dayshift.review.exporting import fetch_ledger_reviews, leave_out_disputed, redact_reviews, write_reviews
from dayshift.review.store import Review, by_episode, load_reviews
from dayshift.trajectory import Trajectory

# Forms of Hugging Face's trainers, whose chat templates take arguments as objects.
_WITH_OBJECTS = frozenset({"prompt-completion", "preference"})
# Forms for reading and not for training: each episode of the folder is exported, with its reviews in it.
_DOCUMENTS = ("atif", "otel")


def export(args: argparse.Namespace) -> int:
    reviews = _load_reviews(args)
    trajectories: Iterable[Trajectory] = _require_some(load(args.folder, quarantined=True), args.folder)
    if args.redact:
        trajectories = map(redact_trajectory, trajectories)
        reviews = redact_reviews(reviews)
    if args.form in _DOCUMENTS:
        return _export_documents(args, trajectories, reviews)
    left_out: Counter[str] = Counter()
    exported: list[str] = []
    undisputed = _note_ids(leave_out_disputed(trajectories, reviews, left_out), exported)
    if args.form == "minari":
        return _export_minari(args, undisputed, left_out)
    with Connection(Address.find(args.control_url)) as connection:
        operations = connection.run(discover_operations(connection.address.control, args.world, ()))
    options = {"flagged": True} if args.flagged else {}
    rows = BUILDERS[args.form](undisputed, operations, args.surface, left_out=left_out, **options)
    arguments = args.arguments or ("object" if args.form in _WITH_OBJECTS else "text")
    written = write_rows(map(with_object_arguments, rows) if arguments == "object" else rows, args.output)
    print(f"{written} rows in {args.output}")
    if own := [review for review in reviews if review.key in set(exported)]:
        print(f"{len(own)} reviews in {write_reviews(own, args.output)}")
    _print_left_out(left_out)
    return 0


def _load_reviews(args: argparse.Namespace) -> list[Review]:
    """Those beside the recordings, those that were named, and for training those of the stack's ledger."""
    if missing := next((path for path in args.reviews if not Path(path).exists()), None):
        raise UsageError(f"{missing} does not exist")
    if args.form in _DOCUMENTS:
        return load_reviews(args.folder, *args.reviews)
    with Connection(Address.find(args.control_url)) as connection:
        recorded = connection.run(fetch_ledger_reviews(connection.address.control))
    return load_reviews(args.folder, *args.reviews, others=recorded)


def _require_some(trajectories: Iterator[Trajectory], folder: str) -> Iterator[Trajectory]:
    first = next(trajectories, None)
    if first is None:
        raise UsageError(f"there is no episode in {folder}, nothing was exported")
    return chain([first], trajectories)


def _note_ids(trajectories: Iterable[Trajectory], exported: list[str]) -> Iterator[Trajectory]:
    for trajectory in trajectories:
        exported.append(trajectory.manifest.episode_id)
        yield trajectory


def _export_documents(args: argparse.Namespace, trajectories: Iterable[Trajectory], reviews: Sequence[Review]) -> int:
    to_document = _document_form(args.form)
    reviews_by_episode = by_episode(reviews)
    count = write_rows(
        (to_document(each, reviews_by_episode.get(each.manifest.episode_id, ())) for each in trajectories), args.output
    )
    print(f"{count} episodes in {args.output}, one in each line")
    return 0


def _document_form(form: str) -> Callable[[Trajectory, Iterable[Review]], dict[str, Any]]:
    if form == "atif":
        from dayshift.exports.atif import to_atif  # each form imports its own module

        return to_atif
    from dayshift.exports.otel import to_otel  # each form imports its own module

    return to_otel


def _export_minari(args: argparse.Namespace, trajectories: Iterable[Trajectory], left_out: Counter[str]) -> int:
    from dayshift.minari_export import export_minari  # its library is an extra

    exported = export_minari(trajectories, args.output, control_url=args.control_url, flagged=args.flagged)
    dataset = exported.dataset
    print(f"{dataset.total_episodes} episodes of {exported.environment} in the Minari dataset {args.output}")
    _print_left_out(left_out + exported.left_out)
    return 0


def _print_left_out(left_out: Counter[str]) -> None:
    if left_out:
        print(f"left out: {describe_left_out(left_out)}")
