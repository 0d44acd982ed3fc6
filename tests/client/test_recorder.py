"""Recorders of several processes on one folder lose nothing of each other."""

import json
import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
from dayshift.recorder import EPISODES_TABLE, MANIFEST, SCORED, STEPS_TABLE, Recorder
from dayshift.recordings import load
from dayshift.shared_lines import SharedLines

from tests.viewer.samples import long_episode, real_episode, vary

EPISODES = 12


def _record(folder: Path, name: str, ready: Barrier) -> None:
    """Opens a recorder, waits until all others have one, and writes long lines as fast as it can."""
    episode = long_episode(steps=40, answer_chars=20_000)
    with Recorder(folder, parquet=True) as recorder:
        ready.wait(60)
        for number in range(EPISODES):
            recorder.record(vary(episode, f"{name}-{number}"))


def _write_manifest(folder: Path, ready: Barrier) -> None:
    ready.wait(60)
    for _ in range(200):
        Recorder(folder).close()


def _run_at_once(*arguments: tuple[object, ...]) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Barrier(len(arguments))
    processes = [spawn.Process(target=target, args=(*rest, ready)) for target, *rest in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def test_two_processes_record_into_one_folder(tmp_path: Path) -> None:
    _run_at_once((_record, tmp_path, "one"), (_record, tmp_path, "two"))

    recorded = {trajectory.manifest.episode_id for trajectory in load(tmp_path)}
    assert recorded == {f"{name}-{number}" for name in ("one", "two") for number in range(EPISODES)}
    assert len((tmp_path / SCORED).read_bytes().splitlines()) == 2 * EPISODES
    for table, rows in ((EPISODES_TABLE, EPISODES), (STEPS_TABLE, 40 * EPISODES)):
        parts = [pq.read_table(tmp_path / name) for name in (table, table.replace(".parquet", "-2.parquet"))]
        assert [part.num_rows for part in parts] == [rows, rows]
        assert {name for part in parts for name in part.column("episode_id").to_pylist()} == recorded


def test_the_manifest_can_be_read_while_others_write_it(tmp_path: Path) -> None:
    _run_at_once((_write_manifest, tmp_path), (_write_manifest, tmp_path))

    assert json.loads((tmp_path / MANIFEST).read_text())["files"]["scored"] == SCORED
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def test_two_recorders_of_one_process_write_tables_of_their_own(tmp_path: Path) -> None:
    episode = real_episode("crm/correct-contact", "oracle")

    with Recorder(tmp_path, parquet=True) as one, Recorder(tmp_path, parquet=True) as other:
        one.record(vary(episode, "one"))
        other.record(vary(episode, "two"))

    tables = [pq.read_table(path).column("episode_id").to_pylist() for path in sorted(tmp_path.glob("episodes*"))]
    assert sorted(tables) == [["one"], ["two"]]


def test_a_line_that_a_crash_left_is_cut_and_another_writers_line_is_not(tmp_path: Path) -> None:
    path = tmp_path / SCORED
    one, other = SharedLines(path), SharedLines(path)
    one.append("first")
    with path.open("ab") as crashed:
        crashed.write(b"x" * 200_000)

    other.append("second")
    one.append("third")

    one.close()
    other.close()
    assert path.read_text() == "first\nsecond\nthird\n"


def test_a_file_that_holds_nothing_but_half_a_line_is_started_again(tmp_path: Path) -> None:
    path = tmp_path / SCORED
    path.write_bytes(b"half")

    lines = SharedLines(path)
    lines.append("whole")
    lines.close()

    assert path.read_text() == "whole\n"


def test_a_table_of_an_earlier_version_is_read_beside_a_new_one(tmp_path: Path) -> None:
    """Earlier tables lack the columns `group`, `attempt` and `surface`."""
    episode = real_episode("crm/correct-contact", "oracle")
    with Recorder(tmp_path, parquet=True) as recorder:
        recorder.record(vary(episode, "earlier"))
    path = tmp_path / EPISODES_TABLE
    pq.write_table(pq.read_table(path).drop_columns(["group", "attempt", "surface"]), path)
    played = {"group": "crm/correct-contact/train/7@small", "attempt": 3, "policy_version": "step-1200"}

    with Recorder(tmp_path, parquet=True) as recorder:
        recorder.record(vary(episode, "new", **played))

    tables = [pq.read_table(tmp_path / name) for name in (EPISODES_TABLE, "episodes-2.parquet")]
    rows = pa.concat_tables(tables, promote_options="default").to_pylist()
    assert [(row["episode_id"], row["group"], row["attempt"], row["policy_version"]) for row in rows] == [
        ("earlier", None, None, episode.policy_version),
        ("new", *played.values()),
    ]
    assert rows[1]["surface"] == (episode.manifest.surface.name if episode.manifest.surface else None)
    assert pyarrow.dataset.dataset([str(path), str(tmp_path / "episodes-2.parquet")]).count_rows() == 2
