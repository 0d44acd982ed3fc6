"""The command `dayshift export`."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from dayshift.connection import Address, Connection
from dayshift.discovery import discover_operations
from dayshift.errors import UsageError
from dayshift.export import BUILDERS, describe_left_out, with_object_arguments, write_rows
from dayshift.recordings import load
from dayshift.trajectory import Trajectory

# Forms of Hugging Face's trainers, whose chat templates take arguments as objects.
_WITH_OBJECTS = frozenset({"prompt-completion", "preference"})


def export(args: argparse.Namespace) -> int:
    trajectories = _require_some(load(args.folder, quarantined=True), args.folder)
    if args.form == "minari":
        return _export_minari(args, trajectories)
    with Connection(Address.find(args.control_url)) as connection:
        operations = connection.run(discover_operations(connection.address.control, args.world, ()))
    left_out: Counter[str] = Counter()
    options = {"flagged": True} if args.flagged else {}
    rows = BUILDERS[args.form](trajectories, operations, args.surface, left_out=left_out, **options)
    arguments = args.arguments or ("object" if args.form in _WITH_OBJECTS else "text")
    written = write_rows(map(with_object_arguments, rows) if arguments == "object" else rows, args.output)
    print(f"{written} rows in {args.output}")
    _print_left_out(left_out)
    return 0


def _require_some(trajectories: Iterator[Trajectory], folder: str) -> Iterator[Trajectory]:
    first = next(trajectories, None)
    if first is None:
        raise UsageError(f"there is no episode in {folder}, nothing was exported")
    return chain([first], trajectories)


def _export_minari(args: argparse.Namespace, trajectories: Iterable[Trajectory]) -> int:
    from dayshift.minari_export import export_minari  # its library is an extra

    exported = export_minari(trajectories, args.output, control_url=args.control_url, flagged=args.flagged)
    dataset = exported.dataset
    print(f"{dataset.total_episodes} episodes of {exported.environment} in the Minari dataset {args.output}")
    _print_left_out(exported.left_out)
    return 0


def _print_left_out(left_out: Counter[str]) -> None:
    if left_out:
        print(f"left out: {describe_left_out(left_out)}")
