"""What the company set up at its desk: views, macros, triggers, automations, service levels, office hours, as rows."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from services.desk.tables import automations, macros, sla_policies, triggers, views
from services.kernel.statements import Row

_HERE = Path(__file__).resolve().parent
_GROUP = "group:"
_RULES: tuple[sa.Table, ...] = (views, macros, triggers, automations, sla_policies)


class NoSuchGroup(LookupError):
    """A rule names a group that the world does not have."""


def rows(created_at: int, groups: Mapping[str, int], first_id: int = 1) -> list[tuple[sa.Table, list[Row]]]:
    """The rules of a furnished desk, as template.build takes them; `groups` gives the id of each group by its name.

    Ids of each table run from `first_id`; its counter must stand at least at the last of them.
    """
    return [(table, _table(table, created_at, groups, first_id)) for table in _RULES]


def schedule() -> dict[str, Any]:
    """Office hours, for the `schedule` of the account's row."""
    found: dict[str, Any] = _read("schedule")
    return found


def group_names() -> set[str]:
    """The groups that these rules need."""
    found: set[str] = set()
    for table in _RULES:
        _collect(_read(table.name), found)
    return found


def _table(table: sa.Table, created_at: int, groups: Mapping[str, int], first_id: int) -> list[Row]:
    return [
        {
            "id": first_id + at,
            "created_at": created_at,
            "updated_at": created_at,
            "body": _body(table, _resolved(written, groups), at + 1),
        }
        for at, written in enumerate(_read(table.name))
    ]


def _body(table: sa.Table, written: dict[str, Any], position: int) -> dict[str, Any]:
    if table is sla_policies:
        return {**written, "position": position}
    body = {**written, "raw_title": written["title"], "position": position, "default": False}
    return {**body, "restriction": None} if table in (views, macros) else body


def _resolved(written: Any, groups: Mapping[str, int]) -> Any:
    """`group:Payments` becomes the id of that group, as text, the way the vendor keeps ids in rules."""
    if isinstance(written, dict):
        return {name: _resolved(value, groups) for name, value in written.items()}
    if isinstance(written, list):
        return [_resolved(value, groups) for value in written]
    if isinstance(written, str) and written.startswith(_GROUP):
        name = written.removeprefix(_GROUP)
        if name not in groups:
            raise NoSuchGroup(f"the rules of the desk need a group called {name!r}")
        return str(groups[name])
    return written


def _collect(written: Any, found: set[str]) -> None:
    if isinstance(written, dict | list):
        for value in written.values() if isinstance(written, dict) else written:
            _collect(value, found)
    elif isinstance(written, str) and written.startswith(_GROUP):
        found.add(written.removeprefix(_GROUP))


@cache
def _read(name: str) -> Any:
    return json.loads((_HERE / f"{name}.json").read_text(encoding="utf-8"))
