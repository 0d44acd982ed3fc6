"""Rows of `files`: their contents, and what planting and the agent changed in them."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa

from services.ide.rows import FilePath, FileRow
from services.ide.tables import files
from services.kernel.changes import AGENT, Change, net
from services.kernel.statements import Row, Statement
from services.kernel.world import World

ALL_FILES = Statement(sa.select(files).order_by(files.c.id), FileRow)


def file_content(row: FileRow) -> bytes:
    if row["text"] is not None:
        return row["text"].encode()
    return base64.b64decode(row["base64"] or "")


def file_text(row: FileRow | None) -> str:
    return "" if row is None else file_content(row).decode(errors="replace")


def make_file_row(path: str, mode: int, content: bytes) -> FileRow:
    try:
        return {"id": FilePath(path), "mode": mode, "text": content.decode(), "base64": None}
    except UnicodeDecodeError:
        return {"id": FilePath(path), "mode": mode, "text": None, "base64": base64.b64encode(content).decode()}


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs: `before` is None for a new one, `after` for one that is gone."""

    path: str
    before: FileRow | None
    after: FileRow | None


@dataclass(frozen=True, slots=True)
class PlantedFile:
    """A file that differs from the template's since the task was planted."""

    path: str
    before: bytes | None
    after: bytes | None


def find_planted_files(world: World) -> list[PlantedFile]:
    """Changes by Dayshift, before the agent came; the agent's own are not part of what it starts from."""
    return [
        PlantedFile(change.path, _content_or_none(change.before), _content_or_none(change.after))
        for change in sorted(_list_changed_files(world, by_agent=False), key=lambda change: change.path)
    ]


def find_edited_files(world: World, prefix: str = "") -> list[ChangedFile]:
    """Files that the agent left different from how it found them."""
    return [change for change in _list_changed_files(world, by_agent=True) if change.path.startswith(prefix)]


def read_tree(world: World, prefix: str) -> dict[str, bytes]:
    """Contents by path, below a folder."""
    return {row["id"]: file_content(row) for row in world.find(ALL_FILES) if row["id"].startswith(prefix)}


def read_start_tree(world: World, prefix: str) -> dict[str, bytes]:
    """The same as the agent found it: the agent's changes are undone."""
    return _undo(read_tree(world, prefix), find_edited_files(world, prefix))


def read_template_tree(world: World, prefix: str, overlay: Mapping[str, str]) -> dict[str, bytes]:
    """The same as the template has it, with other texts for some files.

    Every change since is undone, whoever made it: nothing that an agent wrote is part of what it is compared with.
    """
    changes = (change for change in _net_files(world.changes(table=files)) if change.path.startswith(prefix))
    return _undo(read_tree(world, prefix), changes) | {path: text.encode() for path, text in overlay.items()}


def _undo(tree: dict[str, bytes], changes: Iterable[ChangedFile]) -> dict[str, bytes]:
    for change in changes:
        tree.pop(change.path, None)
        if change.before is not None:
            tree[change.path] = file_content(change.before)
    return tree


def _list_changed_files(world: World, *, by_agent: bool) -> Iterator[ChangedFile]:
    return _net_files(change for change in world.changes(table=files) if (change.actor == AGENT) == by_agent)


def _net_files(history: Iterable[Change]) -> Iterator[ChangedFile]:
    for change in net(history):
        yield ChangedFile(str(change.row_id), _as_file_row(change.before), _as_file_row(change.after))


def _content_or_none(row: FileRow | None) -> bytes | None:
    return None if row is None else file_content(row)


def _as_file_row(image: Row | None) -> FileRow | None:
    # The image of a row has the columns of its table.
    return cast("FileRow | None", image)
