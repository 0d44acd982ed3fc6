"""Recorder: finished episodes as JSON Lines and Parquet; what has no reward is filed apart."""

import json
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from dayshift.errors import MissingExtra
from dayshift.trajectory import SCHEMA, Trajectory, versions

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

SCORED = "trajectories.jsonl"
QUARANTINED = "quarantined.jsonl"
MANIFEST = "manifest.json"
EPISODES_TABLE = "episodes.parquet"
STEPS_TABLE = "steps.parquet"
_ROWS_PER_GROUP = 512


class Recorder:
    """Writes a folder: one line per episode at once, Parquet in row groups and at the end."""

    def __init__(self, folder: str | Path, *, parquet: bool = False) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, TextIO] = {}
        self._tables = _Tables(self.folder) if parquet else None
        self._lock = threading.Lock()
        self.recorded = 0
        self.quarantined = 0
        _write_manifest(self.folder)

    def record(self, trajectory: Trajectory) -> None:
        with self._lock:
            self.recorded += 1
            self.quarantined += not trajectory.scored
            file = self._file(SCORED if trajectory.scored else QUARANTINED)
            file.write(trajectory.model_dump_json() + "\n")
            file.flush()
            if self._tables is not None and trajectory.scored:
                self._tables.add(trajectory)

    def close(self) -> None:
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()
            if self._tables is not None:
                self._tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _file(self, name: str) -> TextIO:
        if name not in self._files:
            self._files[name] = (self.folder / name).open("a", encoding="utf-8")
        return self._files[name]


def _write_manifest(folder: Path) -> None:
    path = folder / MANIFEST
    said = {"schema": SCHEMA, "versions": versions(), "files": {"scored": SCORED, "quarantined": QUARANTINED}}
    if path.exists() and json.loads(path.read_text())["schema"] != SCHEMA:
        raise ValueError(f"{path} is of another schema; record into a new folder")
    path.write_text(json.dumps(said, indent=2) + "\n")


class _Tables:
    """Two Parquet files: episodes and steps, joined by episode_id."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[str, ParquetWriter] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {EPISODES_TABLE: [], STEPS_TABLE: []}
        _arrow()

    def add(self, trajectory: Trajectory) -> None:
        self._rows[EPISODES_TABLE].append(_episode_row(trajectory))
        self._rows[STEPS_TABLE] += _step_rows(trajectory)
        for name, rows in self._rows.items():
            if len(rows) >= _ROWS_PER_GROUP:
                self._flush(name)

    def close(self) -> None:
        for name in self._rows:
            self._flush(name)
        for writer in self._writers.values():
            writer.close()

    def _flush(self, name: str) -> None:
        pa, pq = _arrow()
        schema = _schemas()[name]
        if name not in self._writers:
            self._writers[name] = pq.ParquetWriter(self._folder / name, schema)
        self._writers[name].write_table(pa.Table.from_pylist(self._rows[name], schema=schema))
        self._rows[name].clear()


def _episode_row(trajectory: Trajectory) -> dict[str, Any]:
    manifest, verdict = trajectory.manifest, trajectory.verdict
    assert verdict is not None, "only scored episodes reach the tables"
    return {
        "episode_id": manifest.episode_id,
        "task": manifest.open.task,
        "seed": manifest.open.seed,
        "split": manifest.open.split,
        "world": manifest.open.world,
        "faults": manifest.open.faults,
        "fingerprint": manifest.fingerprint,
        "action_space": manifest.action_space,
        "brief": manifest.brief,
        "outcome": verdict.outcome,
        "reward": verdict.reward,
        "verdict": verdict.model_dump_json(),
        "flagged": trajectory.flagged,
        "policy": trajectory.policy,
        "policy_version": trajectory.policy_version,
        "turns": json.dumps([turn.model_dump() for turn in trajectory.turns], ensure_ascii=False),
        "rewards": json.dumps(trajectory.rewards),
        **trajectory.cost.model_dump(),
    }


def _step_rows(trajectory: Trajectory) -> list[dict[str, Any]]:
    return [
        {
            **step.model_dump(exclude={"arguments"}),
            "episode_id": trajectory.manifest.episode_id,
            "arguments": json.dumps(step.arguments, ensure_ascii=False),
        }
        for step in trajectory.steps
    ]


def _schemas() -> dict[str, Any]:
    pa, _ = _arrow()
    kinds = {"s": pa.string(), "i": pa.int64(), "f": pa.float64(), "b": pa.bool_()}
    meta = {"schema": SCHEMA}
    return {
        name: pa.schema([(column, kinds[kind]) for column, kind in columns.items()], metadata=meta)
        for name, columns in _COLUMNS.items()
    }


def _columns(**kinds: str) -> dict[str, str]:
    return {column: kind for kind, columns in kinds.items() for column in columns.split()}


_COLUMNS = {
    EPISODES_TABLE: _columns(
        s="episode_id task split world faults fingerprint action_space brief outcome verdict policy policy_version "
        "turns rewards",
        i="seed calls request_bytes answer_bytes tokens_estimated",
        f="reward wall_seconds virtual_seconds",
        b="flagged",
    ),
    STEPS_TABLE: _columns(
        s="episode_id operation arguments product method target request answer clock key fault policy_version actor",
        i="number status revision",
        f="milliseconds",
    ),
}


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # late: an extra
        import pyarrow.parquet as pq  # late: an extra
    except ImportError as error:
        raise MissingExtra("pyarrow", "reports") from error
    return pa, pq
