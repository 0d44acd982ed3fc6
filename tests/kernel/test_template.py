"""A world file says what it says, on every machine, and nobody writes to it."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from services.kernel.template import Template, TemplateTouched, UnsafeSchema, WorldMeta, WorldSchema, build
from tests.kernel.pantry import START_MS, build_pantry, rows, schema


def test_the_fingerprint_speaks_of_content_not_of_file_bytes(tmp_path: Path) -> None:
    first = Template(build_pantry(tmp_path, name="a"), schema)
    connection = sqlite3.connect(tmp_path / "pantry-a.sqlite")
    connection.execute("PRAGMA page_size=1024")
    connection.execute("VACUUM")
    connection.close()
    repacked = Template(tmp_path / "pantry-a.sqlite", schema)

    repacked.verify()
    assert repacked.fingerprint == first.fingerprint
    first.close()
    repacked.close()


def test_a_row_that_differs_changes_the_fingerprint(tmp_path: Path) -> None:
    few = Template(build_pantry(tmp_path, count=10, name="few"), schema)
    more = Template(build_pantry(tmp_path, count=11, name="more"), schema)

    assert few.fingerprint != more.fingerprint
    few.close()
    more.close()


def test_a_world_that_was_tampered_with_does_not_verify(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE shelves SET label = 'changed' WHERE id = 3")
    connection.close()
    template = Template(path, schema)

    with pytest.raises(TemplateTouched, match="rebuild"):
        template.verify()
    template.close()


def test_the_same_rows_give_the_same_fingerprint_in_any_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.kernel.pantry import build_pantry, schema;"
        "from services.kernel.template import Template;"
        "print(Template(build_pantry(Path(sys.argv[1])), schema).fingerprint)"
    )
    surroundings = [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "77", "TZ": "America/Lima", "LC_ALL": "C.UTF-8"},
    ]
    printed = {
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / str(at))],
            env={**os.environ, **surrounding},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for at, surrounding in enumerate(surroundings)
    }

    assert len(printed) == 1


def test_an_unfinished_build_leaves_no_world_behind(tmp_path: Path) -> None:
    broken = [(table, [{"id": "no number", "label": None, "contents": {}}]) for table, _ in rows(1)[:1]]

    with pytest.raises(sqlite3.IntegrityError):
        build(tmp_path / "pantry-x.sqlite", schema, WorldMeta("pantry", "x", 1, START_MS, {}), broken)
    assert not (tmp_path / "pantry-x.sqlite").exists()


# Guard 5: a schema cannot end a fork's transaction behind its back.
@pytest.mark.parametrize(
    "ddl",
    [
        "CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT UNIQUE ON CONFLICT  ROLLBACK)",
        "CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER REFERENCES shelves(id) DEFERRABLE\n INITIALLY DEFERRED)",
    ],
)
def test_a_schema_that_could_end_a_transaction_is_refused(tmp_path: Path, ddl: str) -> None:
    with pytest.raises(UnsafeSchema):
        build(tmp_path / "a.sqlite", WorldSchema(sa.MetaData(), derived=(ddl,)), WorldMeta("pantry", "x", 1, 0, {}), [])
