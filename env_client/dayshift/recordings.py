"""Reads what a recorder wrote."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from dayshift.errors import Misuse
from dayshift.recorder import QUARANTINED, SCORED
from dayshift.trajectory import Trajectory


def read(path: str | Path) -> Iterator[Trajectory]:
    """Every trajectory of one JSON Lines file; a line torn by a crash is passed over if it is the last."""
    lines = Path(path).read_bytes().split(b"\n")
    whole, rest = lines[:-1], lines[-1]
    for number, line in enumerate(whole, 1):
        yield _parsed(line, f"{path}:{number}")
    if rest:
        try:
            last = Trajectory.model_validate_json(rest)
        except ValidationError:
            return
        yield last


def load(folder: str | Path, *, quarantined: bool = False, flagged: bool = True) -> Iterator[Trajectory]:
    """The scored episodes of a folder and its subfolders; those without a reward only if asked for."""
    root = Path(folder)
    if not root.exists():
        raise Misuse(f"{root} does not exist")
    names = (SCORED, QUARANTINED) if quarantined else (SCORED,)
    for path in sorted(path for name in names for path in root.rglob(name)):
        for trajectory in read(path):
            if flagged or not trajectory.flagged:
                yield trajectory


def _parsed(line: bytes, where: str) -> Trajectory:
    try:
        return Trajectory.model_validate_json(line)
    except ValidationError as error:
        raise Misuse(f"{where} is no trajectory of this schema: {error.errors()[0]['msg']}") from error
