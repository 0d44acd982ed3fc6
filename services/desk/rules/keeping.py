"""Views, macros, triggers, automations and service level policies as things that people make and change."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from services.desk.errors import RecordInvalid
from services.desk.operations import listing, records
from services.desk.operations.listing import Order, Page, Paging, Where
from services.desk.operations.records import Body, Given
from services.desk.rules import vetting
from services.desk.tables import automations, macros, sla_policies, triggers, views
from services.kernel.statements import Row
from services.kernel.world import World

_COLUMNS = ("status", "subject", "requester", "created", "assignee")
_PLAIN = ("description", "active", "position", "restriction", "category_id")
SORTED = {
    "position": "position",
    "alphabetical": "title_folded",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
IN_ORDER = Order("position")


def create(world: World, table: sa.Table, given: Given) -> Row:
    body = _MADE[table](_blank(world, table) | _plain(given), given)
    return records.add(world, table, body)


def update(world: World, table: sa.Table, key: int, given: Given) -> Row:
    """Only what was sent changes; conditions and actions are replaced as a whole."""
    row = records.need(world, table, key)
    return records.change(world, table, row, _MADE[table](row["body"] | _plain(given), {**_sent(row), **given}))


def delete(world: World, table: sa.Table, key: int) -> None:
    records.need(world, table, key)
    records.remove(world, table, key)


def page(
    world: World, table: sa.Table, paging: Paging, order: Order, *, active: bool | None = None, words: str | None = None
) -> Page:
    where = listing.EVERYTHING if active is None else listing.equal(active=int(active))
    if words is not None:
        where = where & _worded(words)
    return listing.page(world, table, paging, where, order)


def reorder(world: World, table: sa.Table, ids: Sequence[int]) -> None:
    """Those that are named come first, in this order; the others follow as they were."""
    rows = {row["id"]: row for row in listing.every(world, table, order=IN_ORDER)}
    unknown = [key for key in ids if key not in rows]
    if unknown:
        raise RecordInvalid("ids", f"Ids: there is no {unknown[0]}")
    order = [*dict.fromkeys(ids), *(key for key in rows if key not in ids)]
    for place, key in enumerate(order, 1):
        records.change(world, table, rows[key], {"position": place}, "reordered")


def _worded(words: str) -> Where:
    escaped = words.casefold().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return Where("title_folded LIKE :words ESCAPE '\\'", {"words": f"%{escaped}%"})


def _plain(given: Given) -> Body:
    return {name: given[name] for name in _PLAIN if given.get(name) is not None}


def _sent(row: Row) -> Body:
    """What a row says already, as somebody would have sent it."""
    return {**row["body"], "title": row["body"]["title"]}


def _blank(world: World, table: sa.Table) -> Body:
    (last,) = world.rows(f"SELECT ifnull(max(position), 0) FROM {table.name}")[0]  # noqa: S608 - our own name
    start: Body = {"description": None, "position": last + 1}
    if table is sla_policies:
        return start
    return {**start, "active": True, "default": False} | ({"restriction": None} if table in (views, macros) else {})


def _named(body: Body, given: Given) -> Body:
    title = vetting.titled(given.get("title"))
    return {**body, "title": title, "raw_title": title}


def _view(body: Body, given: Given) -> Body:
    conditions = vetting.conditions_of(_latest(given))
    vetting.of_view(conditions)
    return {**_named(body, given), "conditions": conditions, "output": output_of(given.get("output"))}


def _macro(body: Body, given: Given) -> Body:
    return {**_named(body, given), "actions": vetting.actions_of(given.get("actions"))}


def _trigger(body: Body, given: Given) -> Body:
    conditions = vetting.conditions_of(_latest(given))
    vetting.of_trigger(conditions)
    return {**_named(body, given), "conditions": conditions, "actions": vetting.actions_of(given.get("actions"))}


def _automation(body: Body, given: Given) -> Body:
    made = _trigger(body, given)
    vetting.of_automation(made["conditions"], made["actions"])
    return made


def _policy(body: Body, given: Given) -> Body:
    title = vetting.titled(given.get("title"))
    asked = vetting.conditions_of({"conditions": given.get("filter") or {}})
    metrics = vetting.metrics_of(given.get("policy_metrics"))
    return {**body, "title": title, "filter": asked, "policy_metrics": metrics}


def _latest(given: Given) -> Given:
    """`all` and `any` sent beside the title stand for the whole; what was kept before gives way."""
    if given.get("all") is None and given.get("any") is None:
        return given
    return {**given, "conditions": None}


def output_of(given: Mapping[str, Any] | None) -> Body:
    asked = given or {}
    return {
        "columns": [str(one) for one in asked.get("columns") or _COLUMNS],
        "sort_by": asked.get("sort_by") or "created",
        "sort_order": asked.get("sort_order") or "desc",
        "group_by": asked.get("group_by"),
        "group_order": asked.get("group_order") or "desc",
    }


_MADE: Mapping[sa.Table, Callable[[Body, Given], Body]] = {
    views: _view,
    macros: _macro,
    triggers: _trigger,
    automations: _automation,
    sla_policies: _policy,
}
