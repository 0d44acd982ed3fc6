"""The rules of a furnished desk as rows: views, macros, triggers, automations, service levels, office hours."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from services.desk.documents import DeskTable
from services.desk.rows.settings import ScheduleBody
from services.desk.tables import automations, macros, sla_policies, triggers, views
from services.kernel.statements import Row

_HERE = Path(__file__).resolve().parent
_GROUP = "group:"
_RULES: tuple[DeskTable[Any, Any], ...] = (views, macros, triggers, automations, sla_policies)


class NoSuchGroup(LookupError):
    """A rule names a group that the world does not have."""


def rows(created_at: int, groups: Mapping[str, int], first_id: int = 1) -> list[tuple[DeskTable[Any, Any], list[Row]]]:
    """Returns the rules as template.build takes them; `groups` gives the id of each group by its name.

    Ids of each table run from `first_id`; its counter must stand at least at the last of them.
    """
    return [(table, _rows_of(table, created_at, groups, first_id)) for table in _RULES]


def schedule() -> ScheduleBody:
    """Returns the office hours, for the `schedule` of the account's row."""
    body: ScheduleBody = _read("schedule")
    return body


def group_names() -> set[str]:
    """Returns the groups that these rules need."""
    names: set[str] = set()
    for table in _RULES:
        _collect_groups(_read(table.name), names)
    return names


def _rows_of(table: DeskTable[Any, Any], created_at: int, groups: Mapping[str, int], first_id: int) -> list[Row]:
    return [
        {
            "id": first_id + index,
            "created_at": created_at,
            "updated_at": created_at,
            "body": _complete(table, _resolve_groups(rule, groups), index + 1),
        }
        for index, rule in enumerate(_read(table.name))
    ]


def _complete(table: DeskTable[Any, Any], rule: dict[str, Any], position: int) -> dict[str, Any]:
    if table is sla_policies:
        return {**rule, "position": position}
    body = {**rule, "raw_title": rule["title"], "position": position, "default": False}
    return {**body, "restriction": None} if table in (views, macros) else body


def _resolve_groups(value: Any, groups: Mapping[str, int]) -> Any:
    """`group:Payments` becomes the id of that group, as text, the way the vendor keeps ids in rules."""
    if isinstance(value, dict):
        return {name: _resolve_groups(item, groups) for name, item in value.items()}
    if isinstance(value, list):
        return [_resolve_groups(item, groups) for item in value]
    if isinstance(value, str) and value.startswith(_GROUP):
        name = value.removeprefix(_GROUP)
        if name not in groups:
            raise NoSuchGroup(f"the rules of the desk need a group called {name!r}")
        return str(groups[name])
    return value


def _collect_groups(value: Any, names: set[str]) -> None:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _collect_groups(item, names)
    elif isinstance(value, str) and value.startswith(_GROUP):
        names.add(value.removeprefix(_GROUP))


@cache
def _read(name: str) -> Any:
    return json.loads((_HERE / f"{name}.json").read_text(encoding="utf-8"))
