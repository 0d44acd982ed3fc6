"""Forks share one file, see only their own writes, and cannot commit. Each guard fails alone if taken out."""

import sqlite3
from pathlib import Path

import pytest

from services.kernel.forks import Fork, Forks, TransactionLost
from services.kernel.template import Template, TemplateTouched
from services.kernel.world import World
from tests.kernel.pantry import schema, shelves, tags


def contents(path: Path) -> str:
    template = Template(path, schema)
    template.verify()
    template.close()
    return template.fingerprint


def test_two_forks_that_write_the_same_row_see_each_their_own(forks: Forks) -> None:
    one, two = World(forks.take(), 1), World(forks.take(), 1)
    one.save(shelves, {"id": 5, "label": "mine", "contents": {}}, "x")

    assert one.get(shelves, 5)["label"] == "mine"
    assert two.get(shelves, 5)["label"] == "shelf 5"


def test_a_reused_fork_is_clean(forks: Forks) -> None:
    fork = forks.take()
    world = World(fork, 1)
    for shelf in range(1, 100):
        world.save(shelves, {"id": shelf, "label": f"marker {shelf}", "contents": {"x": "y" * 500}}, "x")
    world.remove(tags, "t3", "x")
    world.save(tags, {"id": "new", "colour": "blue"}, "x")
    forks.give_back(fork)

    again = forks.take()
    assert again is fork
    assert World(again, 1).changes() == []
    dump = [again.read(f"SELECT * FROM {t} ORDER BY 1").fetchall() for t in ("shelves", "tags", "labels", "changes")]
    fresh = Fork(forks.template)
    assert dump == [
        fresh.read(f"SELECT * FROM {t} ORDER BY 1").fetchall() for t in ("shelves", "tags", "labels", "changes")
    ]
    fresh.close()


def test_many_writes_from_many_forks_leave_the_file_as_it_was(path: Path, forks: Forks) -> None:
    before = path.read_bytes()
    for _ in range(20):
        taken = [forks.take() for _ in range(10)]
        for seed, fork in enumerate(taken):
            world = World(fork, seed)
            for shelf in range(1, 40):
                world.save(shelves, {"id": shelf, "label": f"by {seed}", "contents": {"n": seed}}, "x")
        for fork in taken:
            forks.give_back(fork)

    assert path.read_bytes() == before
    assert contents(path) == forks.template.fingerprint


# Guard 1: begin, commit and rollback live in Fork alone.
@pytest.mark.parametrize("ending", ["ROLLBACK", "COMMIT", "END", "BEGIN"])
def test_domain_code_cannot_begin_or_end_the_transaction(forks: Forks, ending: str) -> None:
    fork = forks.take()
    forks.give_back(fork)
    fork = forks.take()
    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        fork.read(ending)
    assert fork._connection.in_transaction


# Guard 2: no savepoint and no write without the transaction.
def test_a_fork_that_lost_its_transaction_takes_no_savepoint_and_no_write(path: Path, fork: Fork) -> None:
    before = path.read_bytes()
    with fork._transaction_control():
        fork._connection.execute("ROLLBACK")

    with pytest.raises(TransactionLost):
        fork.savepoint("request")
    with pytest.raises(TransactionLost):
        fork.write("UPDATE shelves SET label = 'lost'")
    assert path.read_bytes() == before


# Guard 3: the authorizer denies whatever could reach the file or another one.
@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT",
        "ATTACH DATABASE ':memory:' AS other",
        "DETACH DATABASE main",
        "PRAGMA journal_mode=WAL",
        "PRAGMA cache_spill=ON",
        "PRAGMA user_version=3",
        "CREATE TABLE sneaked (id INTEGER)",
        "CREATE TEMP TABLE sneaked (id INTEGER)",
        "DROP TABLE shelves",
        "UPDATE sqlite_master SET sql = ''",
        "UPDATE shelves SET label = 'past World'",
        "DELETE FROM changes",
        "INSERT INTO tags VALUES ('x', 'y')",
    ],
)
def test_a_fork_refuses_statements_that_are_not_reads(fork: Fork, sql: str) -> None:
    with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|no such database|may not be modified"):
        fork.read(sql)


def test_a_fork_without_its_transaction_still_cannot_rewrite_the_file(path: Path, fork: Fork) -> None:
    before = path.read_bytes()
    with fork._transaction_control():
        fork._connection.execute("ROLLBACK")

    with pytest.raises(sqlite3.DatabaseError, match="authoriz"):
        fork.read("VACUUM")
    assert path.read_bytes() == before


# Guard 4: a commit by whatever way is noticed at the next reset, and the fork is not used again.
def test_a_written_template_is_noticed_at_the_next_reset(path: Path, forks: Forks) -> None:
    fork = forks.take()
    with sqlite3.connect(path) as intruder:
        intruder.execute("UPDATE shelves SET label = 'intruded' WHERE id = 1")
    intruder.close()

    with pytest.raises(TemplateTouched):
        forks.give_back(fork)
    assert forks.idle_count == 0
    assert forks.open_count == 0


def test_the_danger_is_real_without_the_guards(path: Path) -> None:
    """Releasing an outermost savepoint commits: this is what the guards are for."""
    before = path.read_bytes()
    bare = sqlite3.connect(f"file:{path}?mode=rw&nolock=1", uri=True, isolation_level=None)
    bare.execute("SAVEPOINT request")
    bare.execute("UPDATE shelves SET label = 'written into the shared file' WHERE id = 1")
    bare.execute("RELEASE request")
    bare.close()

    assert path.read_bytes() != before


def test_closed_forks_are_not_kept_beyond_the_limit(template: Template) -> None:
    pool = Forks(template, keep=2)
    taken = [pool.take() for _ in range(5)]
    for fork in taken:
        pool.give_back(fork)

    assert (pool.open_count, pool.idle_count) == (0, 2)
    pool.close()


def test_a_fork_that_has_served_some_episodes_makes_room_for_a_new_one(forks: Forks) -> None:
    served = []
    for _ in range(20):
        fork = forks.take()
        served.append(fork)
        forks.give_back(fork)

    most = max(sum(one is fork for one in served) for fork in served)
    assert 1 < most < 20
    assert forks.idle_count <= 1
