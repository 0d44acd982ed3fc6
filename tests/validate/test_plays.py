"""The table of blind play: the last word on a play counts, and only finished plays do."""

import json
from typing import Any

import pytest

from services.validate.plays import BEGIN, END, PAGE, make_table, read_plays, write_table


def line(play: str, task: str, outcome: str | None, fault: str | None = None, calls: int = 10) -> str:
    record: dict[str, Any] = {"play": play, "task": task, "seed": 1, "player": "p", "calls": calls}
    return json.dumps({**record, "outcome": outcome, "reward": float(outcome == "passed"), "fault": fault, "why": None})


PLAYS = read_plays(
    [
        line("a", "crm/one", "passed", calls=8),
        line("b", "crm/one", "failed"),
        line("b", "crm/one", "failed", "environment", calls=12),
        line("c", "desk/two", "passed", "environment"),
        line("d", "desk/two", "failed", "mine"),
        line("e", "desk/two", None),
        "",
    ]
)


def test_plays_are_counted_by_family_with_whose_fault_it_was() -> None:
    table = make_table(PLAYS)

    assert "| crm/one | 2 | 1 | 1 | 1 | 0 | 10 |" in table
    assert "| desk/two | 2 | 1 | 2 | 1 | 1 | 10 |" in table
    assert "| **all** | 4 | 2 | 3 | 2 | 1 | 10 |" in table
    assert "Wrong verdicts: 2 of 4 (50.0%), of these false passes: 1." in table


def test_the_table_stands_between_the_marks_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    written = write_table(page, make_table(PLAYS))

    assert written.partition(BEGIN)[0] == page.partition(BEGIN)[0]
    assert written.partition(END)[2] == page.partition(END)[2]
    assert write_table(written, make_table(PLAYS)) == written


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(SystemExit, match="no place for the table"):
        write_table("# A page", "a table")
