"""The table of blind play: the last word on a play counts, and only finished plays do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fixtures.tasks.registry import families
from services.validate.plays import (
    BEGIN,
    END,
    PAGE,
    RECORDS,
    make_table,
    read_files,
    read_plays,
    tell_unplayed,
    write_table,
)


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


def test_a_wrong_flag_makes_no_false_pass() -> None:
    record = json.loads(line("f", "ide/three", "passed", "environment"))
    (play,) = read_plays([json.dumps(record | {"about": "flag"})])

    assert play.is_wrong
    assert not play.is_false_pass


def test_the_table_stands_between_the_marks_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    written = write_table(page, make_table(PLAYS))

    assert written.partition(BEGIN)[0] == page.partition(BEGIN)[0]
    assert written.partition(END)[2] == page.partition(END)[2]
    assert write_table(written, make_table(PLAYS)) == written


def test_two_players_may_use_the_same_names(tmp_path: Path) -> None:
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for path in paths:
        path.write_text(line("a", "crm/one", "passed") + "\n", encoding="utf-8")

    assert "| **all** | 2 | 2 |" in make_table(read_files(paths))


def test_families_that_nobody_played_are_named() -> None:
    assert "Not played in this round: `ide/three`." in make_table(PLAYS, ("crm/one", "desk/two", "ide/three"))
    assert "none, every family was played." in make_table(PLAYS, ("crm/one", "desk/two"))


def test_the_page_names_every_family_that_its_table_lacks() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    played = re.findall(r"^\| (\w+/[\w-]+) \|", table, re.MULTILINE)

    assert played
    assert set(played) <= set(families())
    assert tell_unplayed(played, families()) in table


def test_the_table_is_that_of_the_records_in_the_repository() -> None:
    records = sorted(RECORDS.glob("*.jsonl"))
    page = PAGE.read_text(encoding="utf-8")

    assert not records or write_table(page, make_table(read_files(records), families())) == page


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(SystemExit, match="no place for the table"):
        write_table("# A page", "a table")
