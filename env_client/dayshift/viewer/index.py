"""RecordingIndex: an SQLite file beside the recordings, with a row for each episode and where its bytes are."""

import json
import sqlite3
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from dayshift.viewer.finding_rows import find_mentions
from dayshift.viewer.layout import Layout, scan
from dayshift.viewer.model import EpisodeSummary, IndexProgress, Record, StepHead
from dayshift.viewer.summarise import show_text, step_heads, summarise

# Raised with every change of the tables or of what a row holds: an index of another version is made anew.
_VERSION = 2
_SEARCHED_ANSWER_CHARS = 32_768
_SEARCHED_EPISODE_CHARS = 1_000_000
# Seconds: whoever opens the pages while the index is made sees the first rows at once.
_COMMIT_EVERY = 0.1

_TABLES = """
CREATE TABLE files (path TEXT PRIMARY KEY, indexed INTEGER NOT NULL, unreadable INTEGER NOT NULL);
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, run TEXT NOT NULL, file TEXT NOT NULL,
  start INTEGER NOT NULL, length INTEGER NOT NULL, searchable INTEGER NOT NULL DEFAULT 0,
  family TEXT, products TEXT, split TEXT, seed INTEGER, policy TEXT, version TEXT, outcome TEXT, flags TEXT,
  fault TEXT, steps INTEGER, reward REAL, tokens INTEGER, cost REAL, wall_seconds REAL, changed_rows INTEGER,
  grp TEXT, blame TEXT, summary TEXT NOT NULL
);
CREATE INDEX episodes_by_group ON episodes (grp);
CREATE TABLE layouts (
  episode INTEGER PRIMARY KEY, parts TEXT NOT NULL, step_places BLOB NOT NULL, change_places BLOB NOT NULL,
  heads BLOB NOT NULL, mentions TEXT NOT NULL
);
CREATE VIRTUAL TABLE texts USING fts5 (body, content='', tokenize="unicode61 remove_diacritics 2");
"""
_INSERT = (
    "INSERT INTO episodes (key, run, file, start, length, family, products, split, seed, policy, version, outcome, "
    "flags, fault, steps, reward, tokens, cost, wall_seconds, changed_rows, grp, blame, summary) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class RecordingFile(NamedTuple):
    """A file of recordings, and the name of the run that it belongs to."""

    run: str
    path: Path


class EpisodePlace(NamedTuple):
    """Where an episode's line is, and where its parts are in it."""

    id: int
    file: Path
    start: int
    length: int
    parts: dict[str, tuple[int, int]]
    steps: "array[int]"
    changes: "array[int]"
    heads: list[StepHead]
    # The step that met each row which a finding names, by the row's id.
    mentions: dict[str, int]
    summary: EpisodeSummary


class RecordingIndex:
    """Made by one thread, read by others; files that grow are read on from where they ended."""

    def __init__(self, path: Path, files: Sequence[RecordingFile]) -> None:
        self.path = path
        self.files = tuple(files)
        self._total: int | None = None
        self._done = False
        if not self._is_usable():
            self._create()

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=30)
        connection.row_factory = sqlite3.Row
        return connection

    def progress(self) -> IndexProgress:
        with closing(self.connect()) as connection:
            episodes, searchable = connection.execute(
                "SELECT count(*), coalesce(sum(searchable), 0) FROM episodes"
            ).fetchone()
        return IndexProgress(episodes=episodes, total=self._total, searchable=searchable, done=self._done)

    def unreadable(self) -> dict[str, int]:
        """How many lines of each run are not trajectories."""
        with closing(self.connect()) as connection:
            rows = dict(connection.execute("SELECT path, unreadable FROM files"))
        counts: dict[str, int] = {}
        for file in self.files:
            counts[file.run] = counts.get(file.run, 0) + rows.get(str(file.path), 0)
        return counts

    def update(self) -> None:
        """Reads what is new: first the rows of all episodes, then the texts for the search."""
        self._done = False
        with closing(self.connect()) as connection:
            for file in self.files:
                self._read_new_lines(connection, file)
            self._total = connection.execute("SELECT count(*) FROM episodes").fetchone()[0]
            self._index_texts(connection)
        self._done = True

    def find(self, key: str) -> EpisodePlace | None:
        with closing(self.connect()) as connection:
            row = connection.execute(
                "SELECT * FROM episodes JOIN layouts ON layouts.episode = episodes.id WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else _place(row)

    def find_file(self, key: str) -> Path | None:
        with closing(self.connect()) as connection:
            row = connection.execute("SELECT file FROM episodes WHERE key = ?", (key,)).fetchone()
        return None if row is None else Path(row["file"])

    def _read_new_lines(self, connection: sqlite3.Connection, file: RecordingFile) -> None:
        row = connection.execute("SELECT indexed, unreadable FROM files WHERE path = ?", (str(file.path),)).fetchone()
        start, unreadable = (0, 0) if row is None else (row["indexed"], row["unreadable"])
        committed = monotonic()
        for offset, line in _complete_lines(file.path, start):
            if line.strip():
                unreadable += not self._add(connection, file, offset, line)
            start = offset + len(line)
            if monotonic() - committed > _COMMIT_EVERY:
                _note(connection, file, start, unreadable)
                committed = monotonic()
        _note(connection, file, start, unreadable)

    def _add(self, connection: sqlite3.Connection, file: RecordingFile, offset: int, line: bytes) -> bool:
        """Adds one episode; False for a line that is none."""
        try:
            record, layout = scan(line)
            heads = step_heads(record)
            key = _find_key(connection, record, file, offset)
            summary = summarise(record, key=key, run=file.run, heads=heads)
            mentions = find_mentions(record.get("verdict"), record["steps"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        self._insert(connection, (file, offset, len(line)), layout, summary, (heads, mentions))
        return True

    def _insert(
        self,
        connection: sqlite3.Connection,
        place: tuple[RecordingFile, int, int],
        layout: Layout,
        summary: EpisodeSummary,
        contents: tuple[list[StepHead], dict[str, int]],
    ) -> None:
        file, offset, length = place
        heads, mentions = contents
        values = (
            summary["key"],
            file.run,
            str(file.path),
            offset,
            length,
            summary["family"],
            _join(summary["products"]),
            summary["split"],
            str(summary["seed"]),
            summary["policy"],
            summary["version"],
            summary["outcome"],
            _join(summary["flags"]),
            _join([summary["faults"], *summary["struck"]]),
            summary["steps"],
            summary["reward"],
            summary["tokens"],
            summary["cost"],
            summary["wall_seconds"],
            summary["changed_rows"],
            summary["group"],
            summary["blame"],
            json.dumps(summary),
        )
        episode = connection.execute(_INSERT, [_clean(value) for value in values]).lastrowid
        connection.execute(
            "INSERT INTO layouts VALUES (?, ?, ?, ?, ?, ?)",
            (
                episode,
                json.dumps(layout.values),
                zlib.compress(layout.steps.tobytes(), 1),
                zlib.compress(layout.changes.tobytes(), 1),
                zlib.compress(json.dumps(heads).encode(), 1),
                json.dumps(mentions),
            ),
        )

    def _index_texts(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT id, file, start, length FROM episodes WHERE searchable = 0").fetchall()
        committed = monotonic()
        for row in rows:
            record, _ = scan(read_bytes(Path(row["file"]), row["start"], row["length"]))
            connection.execute("INSERT INTO texts (rowid, body) VALUES (?, ?)", (row["id"], _join_texts(record)))
            connection.execute("UPDATE episodes SET searchable = 1 WHERE id = ?", (row["id"],))
            if monotonic() - committed > _COMMIT_EVERY:
                connection.commit()
                committed = monotonic()
        connection.commit()

    def _is_usable(self) -> bool:
        """Whether the index is of this version, and no file has become shorter than what was read of it."""
        if not self.path.exists():
            return False
        try:
            with closing(self.connect()) as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                    return False
                indexed = dict(connection.execute("SELECT path, indexed FROM files"))
        except sqlite3.DatabaseError:
            return False
        current = {str(file.path) for file in self.files}
        return indexed.keys() <= current and all(Path(path).stat().st_size >= size for path, size in indexed.items())

    def _create(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        with closing(self.connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.commit()


def read_bytes(path: Path, start: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(length)


def _complete_lines(path: Path, start: int) -> Iterator[tuple[int, bytes]]:
    """The lines that end; what a recorder is just writing, or a crash left, is read when it is complete."""
    with path.open("rb") as file:
        file.seek(start)
        offset = start
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield offset, line
            offset += len(line)


def _note(connection: sqlite3.Connection, file: RecordingFile, indexed: int, unreadable: int) -> None:
    connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (str(file.path), indexed, unreadable))
    connection.commit()


def _find_key(connection: sqlite3.Connection, record: Record, file: RecordingFile, offset: int) -> str:
    episode_id = str(record["manifest"]["episode_id"])
    taken = connection.execute("SELECT 1 FROM episodes WHERE key = ?", (episode_id,)).fetchone()
    if episode_id and taken is None:
        return episode_id
    return f"{file.run}-{file.path.stem}-{offset}".replace("/", "-")


def _place(row: sqlite3.Row) -> EpisodePlace:
    summary: EpisodeSummary = json.loads(row["summary"])
    return EpisodePlace(
        id=row["id"],
        file=Path(row["file"]),
        start=row["start"],
        length=row["length"],
        parts=json.loads(row["parts"]),
        steps=array("Q", zlib.decompress(row["step_places"])),
        changes=array("Q", zlib.decompress(row["change_places"])),
        heads=json.loads(zlib.decompress(row["heads"])),
        mentions=json.loads(row["mentions"]),
        summary=summary,
    )


def _join(values: Sequence[str]) -> str:
    """Values between bars, so that one of them can be found as `%|value|%`."""
    return "".join(f"|{value}" for value in values) + "|"


def _clean(value: Any) -> Any:
    """SQLite takes no text with the halves of characters that broken UTF-8 leaves."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _join_texts(record: Record) -> str:
    parts = [record["manifest"]["brief"], record["manifest"]["episode_id"]]
    room = _SEARCHED_EPISODE_CHARS
    for step in record["steps"]:
        text = " ".join(
            (
                step["operation"],
                json.dumps(step["arguments"], ensure_ascii=False)[:_SEARCHED_ANSWER_CHARS],
                show_text(step["answer"][:_SEARCHED_ANSWER_CHARS]),
            )
        )
        parts.append(text[:room])
        room -= len(text)
        if room <= 0:
            break
    parts += [
        _message_text(message)[:_SEARCHED_ANSWER_CHARS] for message in (record.get("model") or {}).get("messages", [])
    ]
    return str(_clean("\n".join(parts)))


def _message_text(message: Any) -> str:
    is_own = isinstance(message, dict) and message.get("role") == "assistant"
    return json.dumps(message, ensure_ascii=False) if is_own else ""
