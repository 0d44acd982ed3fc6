"""RecordingsSource: the viewer's source over folders of recordings; it needs no stack."""

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

from dayshift.errors import UsageError
from dayshift.recorder import QUARANTINED, SCORED
from dayshift.trajectory import Trajectory
from dayshift.viewer import query as queries
from dayshift.viewer.index import EpisodePlace, RecordingFile, RecordingIndex, read_bytes
from dayshift.viewer.model import (
    EpisodeDetail,
    EpisodePage,
    EpisodeQuery,
    EpisodeSummary,
    IndexProgress,
    RowChange,
    RunRow,
    StepBody,
    TextPart,
)
from dayshift.viewer.source import MAX_STEPS
from dayshift.viewer.summarise import decode_recorded, detail, find_submitted, step_body

INDEX = ".dayshift-view.sqlite"
_MOST_CHANGES = 2_000


class RecordingsSource:
    """Reads rows from an index, and steps from the recordings by their offsets."""

    kind: Literal["recordings", "ledger"] = "recordings"

    def __init__(self, roots: Sequence[str | Path]) -> None:
        folders = [Path(root) for root in roots]
        self._roots = folders
        self.files = find_files(folders)
        self.title = ", ".join(str(folder) for folder in folders)
        # Where recordings were asked for: reviews are read from here, and the taxonomy is that of the first.
        self.folders = [folder if folder.is_dir() else folder.parent for folder in folders]
        self.index = RecordingIndex(_place_index(folders), self.files)
        self._updating = threading.Lock()

    def update(self) -> None:
        """Reads what was recorded since, in new files too; a second call while one is at work returns at once."""
        if self._updating.acquire(blocking=False):
            try:
                # A folder that is being moved away is looked for again the next time.
                with suppress(UsageError):
                    self.files = find_files(self._roots)
                    self.index.files = tuple(self.files)
                self.index.update()
            finally:
                self._updating.release()

    async def progress(self) -> IndexProgress:
        return await asyncio.to_thread(self.index.progress)

    async def runs(self, query: EpisodeQuery) -> list[RunRow]:
        return await asyncio.to_thread(self._runs, query)

    async def episodes(self, query: EpisodeQuery) -> EpisodePage:
        return await asyncio.to_thread(self._select_page, query)

    async def summaries(self, query: EpisodeQuery) -> list[EpisodeSummary]:
        return await asyncio.to_thread(self.select_summaries, query)

    async def episode(self, key: str, query: EpisodeQuery | None = None) -> EpisodeDetail | None:
        return await asyncio.to_thread(self._episode, key, query or {})

    async def steps(self, key: str, first: int, last: int) -> list[StepBody]:
        return await asyncio.to_thread(self._steps, key, first, min(last, first + MAX_STEPS - 1))

    async def step_text(self, key: str, number: int, part: TextPart) -> bytes | None:
        return await asyncio.to_thread(self._step_text, key, number, part)

    async def changes(self, key: str, first: int, last: int) -> list[RowChange]:
        return await asyncio.to_thread(self._changes, key, first, last)

    async def trajectory(self, key: str) -> Trajectory | None:
        return await asyncio.to_thread(self.read_trajectory, key)

    def select_summaries(self, query: EpisodeQuery) -> list[EpisodeSummary]:
        with closing(self.index.connect()) as connection:
            return queries.select_all(connection, query)

    def _runs(self, query: EpisodeQuery) -> list[RunRow]:
        unreadable = self.index.unreadable()
        with closing(self.index.connect()) as connection:
            rows = queries.select_runs(connection, query)
        return [{**row, "unreadable": unreadable.get(row["run"], 0)} for row in rows]

    def _select_page(self, query: EpisodeQuery) -> EpisodePage:
        with closing(self.index.connect()) as connection:
            return queries.select_page(connection, query)

    def _episode(self, key: str, query: EpisodeQuery) -> EpisodeDetail | None:
        place = self.index.find(key)
        if place is None:
            return None
        record: dict[str, Any] = {name: _read_part(place, name) for name in place.parts if name != "steps"}
        last_step = [_read_json(place, *_bounds(place.steps, len(place.heads) - 1))] if place.heads else []
        view = detail(record, place.summary, place.heads, submitted=find_submitted(last_step), mentions=place.mentions)
        with closing(self.index.connect()) as connection:
            view["previous"], view["next"] = queries.select_neighbours(connection, place.id, query)
        return view

    def _steps(self, key: str, first: int, last: int) -> list[StepBody]:
        place = self.index.find(key)
        return [] if place is None else [step_body(step) for step in _read_steps(place, first, last)]

    def _step_text(self, key: str, number: int, part: TextPart) -> bytes | None:
        place = self.index.find(key)
        found = [] if place is None else list(_read_steps(place, number, number))
        return decode_recorded(found[0][part]) if found else None

    def _changes(self, key: str, first: int, last: int) -> list[RowChange]:
        place = self.index.find(key)
        return [] if place is None else list(_read_changes(place, first, last))[:_MOST_CHANGES]

    def folder_of(self, key: str) -> Path | None:
        """The folder that holds the recording of an episode."""
        file = self.index.find_file(key)
        return None if file is None else file.parent

    def read_trajectory(self, key: str) -> Trajectory | None:
        place = self.index.find(key)
        if place is None:
            return None
        return Trajectory.model_validate_json(
            read_bytes(place.file, place.start, place.length).decode(errors="replace")
        )


def find_files(roots: Sequence[Path]) -> list[RecordingFile]:
    """The files of recordings in the folders and their subfolders; each folder that has some is a run."""
    files: list[RecordingFile] = []
    for root in roots:
        if not root.exists():
            raise UsageError(f"{root} does not exist")
        if root.is_file():
            _require_recordings(root)
            files.append(RecordingFile(root.parent.name or root.stem, root.resolve()))
            continue
        files += [
            RecordingFile(_name_run(root, path.parent), path.resolve())
            for name in (SCORED, QUARANTINED)
            for path in sorted(root.rglob(name))
        ]
    if not files:
        raise UsageError(f"there are no recordings in {', '.join(map(str, roots))}: no {SCORED}, no {QUARANTINED}")
    return sorted(dict.fromkeys(files))


def _require_recordings(file: Path) -> None:
    """A file of another kind is refused by its first line; one that a run has only begun may have none."""
    with file.open("rb") as lines:
        first = lines.readline()
    if first.lstrip().startswith(b"{") or (not first and file.name in (SCORED, QUARANTINED)):
        return
    raise UsageError(f"{file} holds no recordings: name a folder, or the {SCORED} in it")


def _name_run(root: Path, folder: Path) -> str:
    inside = folder.relative_to(root).as_posix()
    return root.resolve().name if inside == "." else inside


def _place_index(roots: Sequence[Path]) -> Path:
    """Beside the recordings of one folder; in the user's cache for several, or where the folder cannot be written."""
    if len(roots) == 1 and roots[0].is_dir() and os.access(roots[0], os.W_OK):
        return roots[0] / INDEX
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dayshift"
    cache.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256("\n".join(str(root.resolve()) for root in roots).encode()).hexdigest()[:16]
    return cache / f"view-{name}.sqlite"


def _read_steps(place: EpisodePlace, first: int, last: int) -> Iterator[dict[str, Any]]:
    for index, head in enumerate(place.heads):
        if first <= head["number"] <= last:
            yield _read_json(place, *_bounds(place.steps, index))


def _read_changes(place: EpisodePlace, first: int, last: int) -> Iterator[RowChange]:
    for index in range(0, len(place.changes), 3):
        step, start, end = place.changes[index : index + 3]
        if first <= step <= last:
            yield _read_json(place, start, end)


def _read_part(place: EpisodePlace, name: str) -> Any:
    return _read_json(place, *place.parts[name])


def _bounds(offsets: Sequence[int], index: int) -> tuple[int, int]:
    return offsets[2 * index], offsets[2 * index + 1]


def _read_json(place: EpisodePlace, start: int, end: int) -> Any:
    content = read_bytes(place.file, place.start + start, end - start)
    return json.loads(content.decode("utf-8", "replace"))
