"""Edits that colleagues make to the same rows while the agent works, counted in its requests and never in time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.kernel.changes import COLLEAGUE, SYSTEM
from services.kernel.statements import Key, Row, RowTable
from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class ConcurrentEdit:
    """What a colleague writes into one row right after the agent's nth request; values by dotted path."""

    after_steps: int
    table: RowTable[Any, Any]
    key: Key
    values: Mapping[str, Any]


def apply_due_edits(world: World, edits: Sequence[ConcurrentEdit], steps: int) -> None:
    """Writes the edits that follow this step, all of them or, where one raises, none."""
    due = [edit for edit in edits if edit.after_steps == steps]
    if not due:
        return
    world.actor = COLLEAGUE
    world.begin()
    try:
        for edit in due:
            row = world.get(edit.table, edit.key)
            if row is not None:
                world.save(edit.table, _apply(row, edit.values, world.clock.now_ms()), "record.updated")
    except BaseException:
        world.undo()
        raise
    else:
        world.keep()
    finally:
        world.actor = SYSTEM


def _apply(row: Row, values: Mapping[str, Any], now_ms: int) -> Row:
    after: Row = {**row, "updated_at": now_ms} if "updated_at" in row else dict(row)
    for path, value in values.items():
        document, names = after, path.split(".")
        for name in names[:-1]:
            document[name] = dict(document[name])
            document = document[name]
        document[names[-1]] = value
    return after
