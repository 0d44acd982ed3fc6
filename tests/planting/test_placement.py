"""Finding the number of a row that is planted in the past costs one step of an index, not a walk over a table."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fixtures.tasks import placement
from tests.company import WORLD


@pytest.mark.parametrize("table", ["tickets", "audits", "users"])
def test_the_row_before_a_moment_is_found_by_the_index_of_creation(company: Path, table: str) -> None:
    query = f"EXPLAIN QUERY PLAN {placement.ROW_BEFORE.format(table=table)}"
    with closing(sqlite3.connect(company / "worlds" / f"desk-{WORLD}.sqlite")) as world:
        plan = [detail for *_, detail in world.execute(query, (0, 0, 1))]

    assert plan == [f"SEARCH {table} USING COVERING INDEX {table}_by_creation (created_at<?)"]
