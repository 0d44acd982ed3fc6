"""Colleagues: people who work on the same rows while the agent does, counted in its requests and never in time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from services.kernel.statements import Row
from services.kernel.world import Key, World

COLLEAGUE = "colleague"


@dataclass(frozen=True, slots=True)
class Edit:
    """What a colleague writes into one row right after the agent's nth request; values by dotted path."""

    after_steps: int
    table: sa.Table
    key: Key
    values: Mapping[str, Any]


def write_due(world: World, edits: Sequence[Edit], steps: int) -> None:
    due = [edit for edit in edits if edit.after_steps == steps]
    if not due:
        return
    world.actor = COLLEAGUE
    world.begin()
    for edit in due:
        row = world.get(edit.table, edit.key)
        if row is not None:
            world.save(edit.table, _edited(row, edit.values, world.clock.now_ms()), "record.updated")
    world.keep()
    world.actor = "house"


def _edited(row: Row, values: Mapping[str, Any], now_ms: int) -> Row:
    edited: Row = {**row, "updated_at": now_ms} if "updated_at" in row else dict(row)
    for path, value in values.items():
        inside, names = edited, path.split(".")
        for name in names[:-1]:
            inside[name] = dict(inside[name])
            inside = inside[name]
        inside[names[-1]] = value
    return edited
