"""`python -m services.validate.plays [FILE …]`: writes the table of blind play into docs/verdict-quality.md.

Each FILE is a player's record of plays, one JSON object per line: the family (`task`), the `player`, `calls`,
`outcome`, `reward`, and whose fault a disputed verdict was (`fault`: mine, environment, unclear; null where nobody
disputed it); `about` is `flag` where outcome and reward are right and only a flag is wrong. A later line of the same
`play` of the same file replaces an earlier one. Without a FILE, the records in docs/plays are read: those of the last
round.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from fixtures.tasks import registry

_DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, RECORDS = _DOCS / "verdict-quality.md", _DOCS / "plays"
_ALL_PLAYED = "every family was played"
BEGIN, END = "<!-- plays: begin -->", "<!-- plays: end -->"
_HEAD = ("family", "plays", "passed", "disputed", "environment's fault", "false passes", "median calls")


@dataclass(frozen=True, slots=True)
class Play:
    """One blind play and what its player said of the verdict."""

    task: str
    calls: int
    outcome: str | None
    reward: float | None
    fault: str | None
    about: str | None = None

    @property
    def is_wrong(self) -> bool:
        return self.fault == "environment"

    @property
    def is_false_pass(self) -> bool:
        """It passed in full and should not have; less reward than due, or a wrong flag, is another fault."""
        return self.is_wrong and self.outcome == "passed" and self.reward == 1 and self.about != "flag"


def read_plays(lines: Iterable[str]) -> list[Play]:
    last: dict[str, dict[str, Any]] = {}
    for line in filter(None, map(str.strip, lines)):
        record = json.loads(line)
        last[record["play"]] = record
    # A play that was never finished has no verdict to be right or wrong.
    return [
        Play(
            record["task"],
            record["calls"],
            record["outcome"],
            record.get("reward"),
            record["fault"],
            record.get("about"),
        )
        for record in last.values()
        if record["outcome"] is not None
    ]


def read_files(paths: Iterable[Path]) -> list[Play]:
    """The plays of all players; two players may have given a play the same name."""
    return [play for path in paths for play in read_plays(path.read_text(encoding="utf-8").splitlines())]


def tell_unplayed(played: Iterable[str], names: Iterable[str]) -> str:
    """The families that the round left out, by name."""
    left_out = sorted(set(names) - set(played))
    return f"Not played in this round: {', '.join(f'`{name}`' for name in left_out) or f'none, {_ALL_PLAYED}'}."


def make_table(plays: Sequence[Play], names: Iterable[str] = ()) -> str:
    families = sorted({play.task for play in plays})
    rows = [_row(family, [play for play in plays if play.task == family]) for family in families]
    lines = ["| " + " | ".join(_HEAD) + " |", "|" + "---|" * len(_HEAD), *rows, _row("**all**", plays)]
    wrong, false_passes = sum(play.is_wrong for play in plays), sum(play.is_false_pass for play in plays)
    count = len(plays)
    rates = f"Wrong verdicts: {wrong} of {count} ({_rate(wrong, count)}), of these false passes: {false_passes}."
    return "\n".join((*lines, "", rates, tell_unplayed(families, names)))


def write_table(page: str, table: str) -> str:
    """The page with the table between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the page has no place for the table: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def _row(name: str, plays: Sequence[Play]) -> str:
    cells = (
        name,
        len(plays),
        sum(play.outcome == "passed" for play in plays),
        sum(play.fault is not None for play in plays),
        sum(play.is_wrong for play in plays),
        sum(play.is_false_pass for play in plays),
        f"{median(play.calls for play in plays):g}" if plays else "–",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _rate(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def main(words: Sequence[str]) -> None:
    paths = [Path(word) for word in words] or sorted(RECORDS.glob("*.jsonl"))
    if not paths or not all(path.is_file() for path in paths):
        raise SystemExit(__doc__)
    table = make_table(read_files(paths), registry.families())
    PAGE.write_text(write_table(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
