"""Reads the files of a recorder."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from dayshift.errors import UsageError
from dayshift.recorder import QUARANTINED, SCORED
from dayshift.trajectory import Trajectory


def read(path: str | Path) -> Iterator[Trajectory]:
    """Yields the trajectories of one JSON Lines file; an incomplete last line, which a crash leaves, is skipped."""
    lines = Path(path).read_bytes().split(b"\n")
    complete, rest = lines[:-1], lines[-1]
    for number, line in enumerate(complete, 1):
        yield _parse(line, f"{path}:{number}")
    if rest:
        try:
            last = Trajectory.model_validate_json(rest)
        except ValidationError:
            return
        yield last


def load(folder: str | Path, *, quarantined: bool = False, flagged: bool = True) -> Iterator[Trajectory]:
    """Yields the scored episodes of a folder and its subfolders, and with `quarantined` those without a reward."""
    root = Path(folder)
    if not root.exists():
        raise UsageError(f"{root} does not exist")
    names = (SCORED, QUARANTINED) if quarantined else (SCORED,)
    for path in sorted(path for name in names for path in root.rglob(name)):
        for trajectory in read(path):
            if flagged or not trajectory.flagged:
                yield trajectory


def _parse(line: bytes, where: str) -> Trajectory:
    try:
        return Trajectory.model_validate_json(line)
    except ValidationError as error:
        raise UsageError(f"{where} is not a trajectory of this schema: {error.errors()[0]['msg']}") from error
