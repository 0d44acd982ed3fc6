"""Tickets that meet conditions: what an index can answer is asked of it, the rest is looked at ticket by ticket."""

from collections.abc import Callable, Mapping
from typing import Any

from services.desk.language.binding import Binder
from services.desk.operations import listing
from services.desk.operations.listing import Where
from services.desk.rules import ruling, subjects
from services.desk.rules.conditions import channel, listed, meets, number, rank
from services.desk.rules.office_hours import HOUR_MS
from services.desk.rules.subjects import Viewer
from services.desk.rules.wording import ORDERED, STATUSES, Condition, Conditions
from services.desk.tables import tickets
from services.kernel.statements import Row
from services.kernel.world import World

_RANKS = {"status": "status_rank", "priority": "ifnull(priority_rank, -1)"}
_SIGNS = {"is": "=", "is_not": "<>", "less_than": "<", "greater_than": ">"}
_IDS = ("group_id", "assignee_id", "requester_id", "organization_id", "brand_id", "ticket_form_id")
_ALIVE = "id NOT IN (SELECT id FROM tickets WHERE deleted_at IS NOT NULL)"


# What must be so for a condition to hold at all, where an index can tell no more.
_NEEDED = {
    **{status.upper(): f"status_rank = {at}" for at, status in enumerate(STATUSES)},
    **dict.fromkeys(("sla_next_breach_at", "until_sla_next_breach_at"), "id IN (SELECT ticket_id FROM sla_targets)"),
    **dict.fromkeys(("due_date", "until_due_date"), "due_at IS NOT NULL"),
}


class Selection:
    """The tickets that meet conditions, as one member of staff sees them."""

    def __init__(self, world: World, conditions: Conditions, viewer: Viewer | None) -> None:
        self._world = world
        self._viewer = viewer
        self._binder = Binder()
        asked = [_ALIVE]
        left: list[Condition] = []
        for one in conditions.every:
            sql = self._sql(one)
            if sql is None:
                left.append(one)
                asked.append(_NEEDED.get(one.field, "1"))
            else:
                asked.append(sql)
        some = self._either(conditions)
        if some is None and conditions.some:
            asked.append(" OR ".join(f"({self._sql(one) or _NEEDED.get(one.field, '1')})" for one in conditions.some))
        if some is not None:
            asked.append(some)
        self._left = Conditions(tuple(left), () if some is not None else conditions.some)
        self._where = Where(" AND ".join(f"({one})" for one in asked), self._binder.parameters)

    @property
    def where(self) -> Where:
        """What is to be asked of the tickets' table: nothing more has to be looked at after `rows` was called."""
        if not self._left.every and not self._left.some:
            return self._where
        ids = [row["id"] for row in self.rows()]
        return listing.among("id", ids)

    def count(self) -> int:
        return listing.count(self._world, tickets, self.where)

    def rows(self) -> list[Row]:
        found = listing.every(self._world, tickets, self._where)
        if not self._left.every and not self._left.some:
            return found
        now, schedule = self._world.clock.now_ms(), ruling.schedule(self._world)
        return [
            row for row in found if meets(subjects.at_rest(self._world, row, now, schedule, self._viewer), self._left)
        ]

    def _either(self, conditions: Conditions) -> str | None:
        """All alternatives, or none: one that no index can answer makes the others useless."""
        told = [self._sql(one) for one in conditions.some]
        known = [sql for sql in told if sql is not None]
        return f"({' OR '.join(known)})" if known and len(known) == len(told) else None

    def _sql(self, one: Condition) -> str | None:
        if one.field in _RANKS:
            return self._ranked(one)
        if one.field in _IDS:
            return self._referring(one)
        told = _TOLD.get(one.field)
        return None if told is None else told(self._binder, one, self._world.clock.now_ms())

    def _ranked(self, one: Condition) -> str | None:
        if one.operator not in _SIGNS or (
            one.value not in (None, "", "-", "none") and one.value not in ORDERED[one.field]
        ):
            return None
        return f"{_RANKS[one.field]} {_SIGNS[one.operator]} {self._binder.bind(rank(one.field, one.value))}"

    def _referring(self, one: Condition) -> str | None:
        if one.operator not in ("is", "is_not"):
            return None
        negated = "NOT " if one.operator == "is_not" else ""
        if one.value == "current_groups":
            groups = () if self._viewer is None else self._viewer.groups
            return f"{negated}ifnull({one.field}, 0) IN {self._binder.bind_all(groups)}"
        key = self._id(one.value)
        if key is None and one.value not in (None, "", "-", "none"):
            return None
        return f"{one.field} IS {negated}{self._binder.bind(key)}"

    def _id(self, value: Any) -> int | None:
        if value == "current_user":
            return None if self._viewer is None else self._viewer.id
        text = str(value or "")
        return int(text) if text.isascii() and text.isdigit() else None


def _tagged(binder: Binder, one: Condition, _: int) -> str | None:
    inside = f"SELECT owner_id FROM ticket_links WHERE kind = 'tag' AND value IN {binder.bind_all(listed(one.value))}"  # noqa: S608 - bound
    return f"id {'' if one.operator == 'includes' else 'NOT '}IN ({inside})"


def _rated(binder: Binder, one: Condition, _: int) -> str | None:
    """Ratings have rows of their own; what was only offered, or not even that, has not."""
    score = str(one.value).removesuffix("withcomment")
    if one.operator not in ("is", "is_not") or score not in ("good", "bad"):
        return None
    commented = "<>" if str(one.value).endswith("withcomment") else "="
    given = f"score = {binder.bind(score)} AND ifnull(body ->> '$.comment', '') {commented} ''"
    inside = f"SELECT ticket_id FROM satisfaction_ratings WHERE {given}"  # noqa: S608 - bound
    return f"id {'' if one.operator == 'is' else 'NOT '}IN ({inside})"


def _typed(binder: Binder, one: Condition, _: int) -> str | None:
    if one.operator not in ("is", "is_not"):
        return None
    wanted = "" if one.value in (None, "", "-", "none") else str(one.value)
    return f"ifnull(type, '') {_SIGNS[one.operator]} {binder.bind(wanted)}"


def _came(binder: Binder, one: Condition, _: int) -> str | None:
    if one.operator not in ("is", "is_not"):
        return None
    return f"ifnull(channel, 'None') {_SIGNS[one.operator]} {binder.bind(channel(one.value))}"


def _aged(column: str) -> Callable[[Binder, Condition, int], str | None]:
    """Hours since: by the calendar only, office hours are counted ticket by ticket."""

    def told(binder: Binder, one: Condition, now_ms: int) -> str | None:
        if one.operator not in ("less_than", "greater_than"):
            return None
        at = binder.bind(now_ms - number(one.value) * HOUR_MS)
        return f"{column} {'>' if one.operator == 'less_than' else '<'} {at}"

    return told


_TOLD: Mapping[str, Callable[[Binder, Condition, int], str | None]] = {
    "current_tags": _tagged,
    "satisfaction_score": _rated,
    "type": _typed,
    "via_id": _came,
    "created_at": _aged("created_at"),
    "updated_at": _aged("updated_at"),
}
