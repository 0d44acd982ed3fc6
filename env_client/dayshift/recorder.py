"""Recorder: writes finished episodes as JSON Lines and Parquet; those without a reward go to a file of their own."""

import json
import os
import threading
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypedDict, get_args, get_type_hints

from dayshift.errors import MissingExtra
from dayshift.shared_lines import SharedLines
from dayshift.trajectory import SCHEMA, RecordedStep, Trajectory, versions

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

SCORED = "trajectories.jsonl"
QUARANTINED = "quarantined.jsonl"
MANIFEST = "manifest.json"
EPISODES_TABLE = "episodes.parquet"
STEPS_TABLE = "steps.parquet"
_ROWS_PER_GROUP = 512


class EpisodeRecorder(Protocol):
    """Whatever takes finished episodes: a `Recorder`, or `dayshift.EpisodeMetrics`."""

    def record(self, trajectory: Trajectory) -> None: ...


class Recorder:
    """Writes a folder: the line of an episode at once, Parquet in row groups and at the end.

    Copies of an environment share it. In another process, it is opened again on the same folder: recorders of any
    number of processes may be open on one folder, and each writes Parquet tables of its own.
    An episode that comes after `close`, such as one that was cut, is still written to its line, and not to Parquet.
    """

    def __init__(self, folder: str | Path, *, parquet: bool = False) -> None:
        self.folder = Path(folder)
        self._parquet = parquet
        self.folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, SharedLines] = {}
        self._tables = _ParquetTables(self.folder) if parquet else None
        self._lock = threading.Lock()
        self._closed = False
        self.recorded = 0
        self.quarantined = 0
        _write_manifest(self.folder)

    def record(self, trajectory: Trajectory) -> None:
        with self._lock:
            self.recorded += 1
            self.quarantined += not trajectory.scored
            self._file(SCORED if trajectory.scored else QUARANTINED).append(trajectory.model_dump_json())
            if self._closed:
                self._close_files()
            elif self._tables is not None and trajectory.scored:
                self._tables.add(trajectory)

    def close(self) -> None:
        with self._lock:
            self._close_files()
            if self._tables is not None and not self._closed:
                self._tables.close()
            self._closed = True

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), parquet=self._parquet), (self.folder,)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _file(self, name: str) -> SharedLines:
        if name not in self._files:
            self._files[name] = SharedLines(self.folder / name)
        return self._files[name]


def _write_manifest(folder: Path) -> None:
    path = folder / MANIFEST
    manifest = {"schema": SCHEMA, "versions": versions(), "files": {"scored": SCORED, "quarantined": QUARANTINED}}
    if path.exists() and json.loads(path.read_text())["schema"] != SCHEMA:
        raise ValueError(f"{path} has another schema; record into a new folder")
    # In one step, since another recorder may read it at the same time.
    draft = path.with_name(f"{MANIFEST}.{os.getpid()}-{threading.get_ident()}")
    draft.write_text(json.dumps(manifest, indent=2) + "\n")
    draft.replace(path)


class EpisodeRow(TypedDict):
    """One row of episodes.parquet; nested values are JSON text."""

    episode_id: str
    task: str | None
    split: str
    world: str
    faults: str
    fingerprint: str
    action_space: str
    brief: str
    outcome: str
    verdict: str
    policy: str | None
    policy_version: str | None
    # Attempts at one instance form a group, and are numbered in it.
    group: str | None
    attempt: int | None
    # The tools that a model was given.
    surface: str | None
    turns: str
    rewards: str
    seed: int
    calls: int
    request_bytes: int
    answer_bytes: int
    tokens_estimated: int
    reward: float | None
    wall_seconds: float
    virtual_seconds: float
    flagged: bool


class StepRow(TypedDict):
    """One row of steps.parquet; the arguments are JSON text."""

    episode_id: str
    operation: str
    arguments: str
    product: str
    method: str
    target: str
    request: str
    answer: str
    clock: str
    key: str
    fault: str | None
    policy_version: str | None
    actor: str
    number: int
    status: int
    revision: int | None
    milliseconds: float


_TABLES = {EPISODES_TABLE: EpisodeRow, STEPS_TABLE: StepRow}


class _ParquetTables:
    """Writes two Parquet files, episodes and steps, which join on episode_id.

    A Parquet file cannot be extended: a second recorder writes `episodes-2.parquet` and `steps-2.parquet`. The files
    are made when the first rows are written, and belong to the recorder that made them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._part: int | None = None
        self._writers: dict[str, ParquetWriter] = {}
        self._episodes: list[EpisodeRow] = []
        self._steps: list[StepRow] = []
        _import_pyarrow()

    def add(self, trajectory: Trajectory) -> None:
        episode_id = trajectory.manifest.episode_id
        self._episodes.append(_build_episode_row(trajectory))
        self._steps += [_build_step_row(episode_id, step) for step in trajectory.steps]
        if len(self._episodes) >= _ROWS_PER_GROUP:
            self._flush(EPISODES_TABLE, self._episodes)
        if len(self._steps) >= _ROWS_PER_GROUP:
            self._flush(STEPS_TABLE, self._steps)

    def close(self) -> None:
        self._flush(EPISODES_TABLE, self._episodes)
        self._flush(STEPS_TABLE, self._steps)
        for writer in self._writers.values():
            writer.close()

    def _flush(self, table: str, rows: list[EpisodeRow] | list[StepRow]) -> None:
        pa, pq = _import_pyarrow()
        schema = _build_schema(table)
        if self._part is None:
            self._part = _reserve_part(self._folder)
        if table not in self._writers:
            self._writers[table] = pq.ParquetWriter(self._folder / _part_name(table, self._part), schema)
        self._writers[table].write_table(pa.Table.from_pylist(rows, schema=schema))
        rows.clear()


def _reserve_part(folder: Path) -> int:
    """Makes the tables of the first part that is free, so that no other recorder takes it."""
    part = 1
    while True:
        episodes = folder / _part_name(EPISODES_TABLE, part)
        if _create(episodes):
            if _create(folder / _part_name(STEPS_TABLE, part)):
                return part
            episodes.unlink()
        part += 1


def _create(path: Path) -> bool:
    try:
        path.open("x").close()
    except FileExistsError:
        return False
    return True


def _part_name(table: str, part: int) -> str:
    return table if part == 1 else table.replace(".parquet", f"-{part}.parquet")


def _build_episode_row(trajectory: Trajectory) -> EpisodeRow:
    manifest, verdict, cost = trajectory.manifest, trajectory.verdict, trajectory.cost
    assert verdict is not None, "the tables hold scored episodes only"
    return EpisodeRow(
        episode_id=manifest.episode_id,
        task=manifest.open.task,
        split=manifest.open.split,
        world=manifest.open.world,
        faults=manifest.open.faults,
        fingerprint=manifest.fingerprint,
        action_space=manifest.action_space,
        brief=manifest.brief,
        outcome=verdict.outcome,
        verdict=verdict.model_dump_json(),
        policy=trajectory.policy,
        policy_version=trajectory.policy_version,
        group=trajectory.group,
        attempt=trajectory.attempt,
        surface=None if manifest.surface is None else manifest.surface.name,
        turns=json.dumps([turn.model_dump() for turn in trajectory.turns], ensure_ascii=False),
        rewards=json.dumps(trajectory.rewards),
        seed=manifest.open.seed,
        calls=cost.calls,
        request_bytes=cost.request_bytes,
        answer_bytes=cost.answer_bytes,
        tokens_estimated=cost.tokens_estimated,
        reward=verdict.reward,
        wall_seconds=cost.wall_seconds,
        virtual_seconds=cost.virtual_seconds,
        flagged=trajectory.flagged,
    )


def _build_step_row(episode_id: str, step: RecordedStep) -> StepRow:
    return StepRow(
        episode_id=episode_id,
        operation=step.operation,
        arguments=json.dumps(step.arguments, ensure_ascii=False),
        product=step.product,
        method=step.method,
        target=step.target,
        request=step.request,
        answer=step.answer,
        clock=step.clock,
        key=step.key,
        fault=step.fault,
        policy_version=step.policy_version,
        actor=step.actor,
        number=step.number,
        status=step.status,
        revision=step.revision,
        milliseconds=step.milliseconds,
    )


def _build_schema(table: str) -> Any:
    """Builds the Arrow schema of a table from the annotations of its row type."""
    pa, _ = _import_pyarrow()
    arrow_types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    columns = []
    for column, annotation in get_type_hints(_TABLES[table]).items():
        kind = annotation if isinstance(annotation, type) else get_args(annotation)[0]
        columns.append((column, arrow_types[kind]))
    return pa.schema(columns, metadata={"schema": SCHEMA})


def _import_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # an extra
        import pyarrow.parquet as pq  # an extra
    except ImportError as error:
        raise MissingExtra("pyarrow", "reports") from error
    return pa, pq
