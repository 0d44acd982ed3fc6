"""Selects the tickets that meet conditions: by SQL where an index can answer, the rest ticket by ticket."""

from collections.abc import Callable, Mapping
from typing import Any

from services.desk.documents import select_ids
from services.desk.indexing import STATUSES
from services.desk.rows import UserId
from services.desk.rows.tickets import TicketRow
from services.desk.rules.conditions import channel_name, meets, rank, split_words, to_number
from services.desk.rules.office_hours import HOUR_MS
from services.desk.rules.rule_store import get_schedule
from services.desk.rules.subjects import Viewer, subject_at_rest
from services.desk.rules.vocabulary import ORDERED, Condition, Conditions
from services.desk.tables import tickets
from services.kernel.documents import Binder, Where, among
from services.kernel.world import World

_RANKS = {"status": "status_rank", "priority": "ifnull(priority_rank, -1)"}
_SIGNS = {"is": "=", "is_not": "<>", "less_than": "<", "greater_than": ">"}
_IDS = ("group_id", "assignee_id", "requester_id", "organization_id", "brand_id", "ticket_form_id")
_EMPTY = (None, "", "-", "none")
_ALIVE = "id NOT IN (SELECT id FROM tickets WHERE deleted_at IS NOT NULL)"
# What every ticket that meets a condition has in common, where SQL cannot decide the condition itself.
_NECESSARY = {
    **{status.upper(): f"status_rank = {place}" for place, status in enumerate(STATUSES)},
    **dict.fromkeys(("sla_next_breach_at", "until_sla_next_breach_at"), "id IN (SELECT ticket_id FROM sla_targets)"),
    **dict.fromkeys(("due_date", "until_due_date"), "due_at IS NOT NULL"),
}


class Selection:
    """The tickets that meet conditions, as one member of staff sees them."""

    def __init__(self, world: World, conditions: Conditions, viewer: Viewer | None) -> None:
        self._world = world
        self._viewer = viewer
        self._binder = Binder()
        clauses = [_ALIVE]
        undecided: list[Condition] = []
        for condition in conditions.required:
            sql = self._to_sql(condition)
            if sql is None:
                undecided.append(condition)
            clauses.append(sql or _NECESSARY.get(condition.field, "1"))
        alternatives = [(condition, self._to_sql(condition)) for condition in conditions.alternatives]
        # One alternative that SQL cannot decide leaves all of them open.
        decided = all(sql is not None for _, sql in alternatives)
        if alternatives:
            clauses.append(
                " OR ".join(f"({sql or _NECESSARY.get(condition.field, '1')})" for condition, sql in alternatives)
            )
        self._left = Conditions(tuple(undecided), () if decided else conditions.alternatives)
        self._where = Where(" AND ".join(f"({clause})" for clause in clauses), self._binder.parameters)

    @property
    def where(self) -> Where:
        """Returns the condition on the tickets' table that selects exactly these tickets."""
        return among("id", [row["id"] for row in self.rows()]) if self._left else self._where

    def count(self) -> int:
        return tickets.count_rows(self._world, self.where)

    def rows(self) -> list[TicketRow]:
        rows = tickets.find(self._world, self._where)
        if not self._left:
            return rows
        now, schedule = self._world.clock.now_ms(), get_schedule(self._world)
        return [
            row for row in rows if meets(subject_at_rest(self._world, row, now, schedule, self._viewer), self._left)
        ]

    def _to_sql(self, condition: Condition) -> str | None:
        if condition.field in _RANKS:
            return self._compare_rank(condition)
        if condition.field in _IDS:
            return self._compare_id(condition)
        translate = _TRANSLATIONS.get(condition.field)
        return None if translate is None else translate(self._binder, condition, self._world.clock.now_ms())

    def _compare_rank(self, condition: Condition) -> str | None:
        name, operator, value = condition.field, condition.operator, condition.value
        if operator not in _SIGNS or (value not in _EMPTY and value not in ORDERED[name]):
            return None
        return f"{_RANKS[name]} {_SIGNS[operator]} {self._binder.bind(rank(name, value))}"

    def _compare_id(self, condition: Condition) -> str | None:
        if condition.operator not in ("is", "is_not"):
            return None
        negated = "NOT " if condition.operator == "is_not" else ""
        if condition.value == "current_groups":
            groups = () if self._viewer is None else self._viewer.groups
            return f"{negated}ifnull({condition.field}, 0) IN {self._binder.bind_all(groups)}"
        key = self._read_id(condition.value)
        if key is None and condition.value not in _EMPTY:
            return None
        return f"{condition.field} IS {negated}{self._binder.bind(key)}"

    def _read_id(self, value: Any) -> int | None:
        if value == "current_user":
            viewer: UserId | None = None if self._viewer is None else self._viewer.id
            return viewer
        text = str(value or "")
        return int(text) if text.isascii() and text.isdigit() else None


def _has_tags(binder: Binder, condition: Condition, _: int) -> str | None:
    tags = binder.bind_all(split_words(condition.value))
    owners = select_ids("ticket_links", f"kind = 'tag' AND value IN {tags}", "owner_id")
    return f"id {'' if condition.operator == 'includes' else 'NOT '}IN ({owners})"


def _has_rating(binder: Binder, condition: Condition, _: int) -> str | None:
    """Ratings that were given have rows of their own; those that were only offered have not."""
    score = str(condition.value).removesuffix("withcomment")
    if condition.operator not in ("is", "is_not") or score not in ("good", "bad"):
        return None
    sign = "<>" if str(condition.value).endswith("withcomment") else "="
    rated = f"score = {binder.bind(score)} AND ifnull(body ->> '$.comment', '') {sign} ''"
    owners = select_ids("satisfaction_ratings", rated, "ticket_id")
    return f"id {'' if condition.operator == 'is' else 'NOT '}IN ({owners})"


def _has_type(binder: Binder, condition: Condition, _: int) -> str | None:
    if condition.operator not in ("is", "is_not"):
        return None
    wanted = "" if condition.value in _EMPTY else str(condition.value)
    return f"ifnull(type, '') {_SIGNS[condition.operator]} {binder.bind(wanted)}"


def _has_channel(binder: Binder, condition: Condition, _: int) -> str | None:
    if condition.operator not in ("is", "is_not"):
        return None
    return f"ifnull(channel, 'None') {_SIGNS[condition.operator]} {binder.bind(channel_name(condition.value))}"


def _has_age(column: str) -> Callable[[Binder, Condition, int], str | None]:
    """Hours by the calendar only; office hours are counted ticket by ticket."""

    def translate(binder: Binder, condition: Condition, now_ms: int) -> str | None:
        if condition.operator not in ("less_than", "greater_than"):
            return None
        edge = binder.bind(now_ms - to_number(condition.value) * HOUR_MS)
        return f"{column} {'>' if condition.operator == 'less_than' else '<'} {edge}"

    return translate


_TRANSLATIONS: Mapping[str, Callable[[Binder, Condition, int], str | None]] = {
    "current_tags": _has_tags,
    "satisfaction_score": _has_rating,
    "type": _has_type,
    "via_id": _has_channel,
    "created_at": _has_age("created_at"),
    "updated_at": _has_age("updated_at"),
}
