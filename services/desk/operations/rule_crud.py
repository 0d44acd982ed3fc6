"""Views, macros, triggers, automations and service level policies as records that people create and change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from services.desk.documents import DeskTable, Page, Paging, Sort
from services.desk.errors import RecordInvalid
from services.desk.records.payload import Payload
from services.desk.rows import AutomationId, BodyT, DeskRow, KeyT, MacroId, SlaPolicyId, TriggerId, ViewId
from services.desk.rows.rules import (
    MacroBody,
    RuleBody,
    RuleFields,
    SlaPolicyBody,
    SlaPolicyFields,
    TriggerBody,
    ViewBody,
    ViewDefinition,
    ViewOutput,
)
from services.desk.rules.validation import (
    read_actions,
    read_conditions,
    read_policy_metrics,
    read_title,
    require_automation,
    require_trigger,
    require_view,
)
from services.desk.tables import automations, macros, sla_policies, triggers, views
from services.kernel.documents import EVERYTHING, Where, equal
from services.kernel.world import World

_COLUMNS = ("status", "subject", "requester", "created", "assignee")
_PLAIN = ("description", "active", "position", "restriction", "category_id")
# Columns by the names that clients sort by.
SORT_COLUMNS = {
    "position": "position",
    "alphabetical": "title_folded",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
BY_POSITION = Sort("position")


@dataclass(frozen=True, slots=True)
class RuleKind(Generic[KeyT, BodyT]):
    """One kind of rule: its table, what a new one starts with, and how its body is read from a request."""

    table: DeskTable[KeyT, BodyT]
    defaults: Mapping[str, Any]
    # Takes the plain fields as they are now, and everything that the rule would be sent as.
    build: Callable[[Any, Payload], BodyT]

    def create(self, world: World, payload: Payload) -> DeskRow[KeyT, BodyT]:
        (last,) = world.rows(f"SELECT ifnull(max(position), 0) FROM {self.table.name}")[0]  # noqa: S608 - our own name
        fields = {"description": None, "position": last + 1, **self.defaults, **_read_plain(payload)}
        return self.table.add(world, self.build(fields, payload))

    def update(self, world: World, key: KeyT, payload: Payload) -> DeskRow[KeyT, BodyT]:
        """Changes only what was sent; conditions and actions are replaced as a whole."""
        row = self.table.need(world, key)
        body = self.build({**row["body"], **_read_plain(payload)}, {**row["body"], **payload})
        return self.table.change(world, row, body)

    def delete(self, world: World, key: KeyT) -> None:
        self.table.need(world, key)
        self.table.discard(world, key)

    def page(
        self, world: World, paging: Paging, sort: Sort, *, active: bool | None = None, title: str | None = None
    ) -> Page[DeskRow[KeyT, BodyT]]:
        where = EVERYTHING if active is None else equal(active=int(active))
        return self.table.page(world, paging, where if title is None else where & _title_contains(title), sort)


def reorder_triggers(world: World, ids: Sequence[TriggerId]) -> None:
    """Puts the named triggers first, in this order; the others follow as they were."""
    rows = {row["id"]: row for row in triggers.find(world, sort=BY_POSITION)}
    unknown = [key for key in ids if key not in rows]
    if unknown:
        raise RecordInvalid("ids", f"Ids: there is no {unknown[0]}")
    order = [*dict.fromkeys(ids), *(key for key in rows if key not in ids)]
    for place, key in enumerate(order, 1):
        row = rows[key]
        triggers.change(world, row, {**row["body"], "position": place}, "reordered")


def read_view(payload: Payload) -> ViewDefinition:
    """Reads what decides what a view shows."""
    conditions = read_conditions(payload)
    require_view(conditions)
    return {"conditions": conditions, "output": _read_output(payload.get("output"))}


def _title_contains(text: str) -> Where:
    escaped = text.casefold().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return Where("title_folded LIKE :words ESCAPE '\\'", {"words": f"%{escaped}%"})


def _read_plain(payload: Payload) -> Payload:
    return {name: payload[name] for name in _PLAIN if payload.get(name) is not None}


def _add_title(fields: RuleFields, payload: Payload) -> RuleBody:
    title = read_title(payload.get("title"))
    return {**fields, "title": title, "raw_title": title}


def _build_view(fields: RuleFields, payload: Payload) -> ViewBody:
    definition = read_view(_prefer_new_conditions(payload))
    return {**_add_title(fields, payload), **definition}


def _build_macro(fields: RuleFields, payload: Payload) -> MacroBody:
    return {**_add_title(fields, payload), "actions": read_actions(payload.get("actions"))}


def _build_trigger(fields: RuleFields, payload: Payload) -> TriggerBody:
    conditions = read_conditions(_prefer_new_conditions(payload))
    require_trigger(conditions)
    named = _add_title(fields, payload)
    return {**named, "conditions": conditions, "actions": read_actions(payload.get("actions"))}


def _build_automation(fields: RuleFields, payload: Payload) -> TriggerBody:
    body = _build_trigger(fields, payload)
    require_automation(body["conditions"], body["actions"])
    return body


def _build_policy(fields: SlaPolicyFields, payload: Payload) -> SlaPolicyBody:
    title = read_title(payload.get("title"))
    conditions = read_conditions({"conditions": payload.get("filter") or {}})
    metrics = read_policy_metrics(payload.get("policy_metrics"))
    return {**fields, "title": title, "filter": conditions, "policy_metrics": metrics}


def _prefer_new_conditions(payload: Payload) -> Payload:
    """`all` and `any` that were sent beside the title replace the conditions that the rule had."""
    if payload.get("all") is None and payload.get("any") is None:
        return payload
    return {**payload, "conditions": None}


def _read_output(payload: Mapping[str, Any] | None) -> ViewOutput:
    output = payload or {}
    return {
        "columns": [str(column) for column in output.get("columns") or _COLUMNS],
        "sort_by": output.get("sort_by") or "created",
        "sort_order": output.get("sort_order") or "desc",
        "group_by": output.get("group_by"),
        "group_order": output.get("group_order") or "desc",
    }


_ACTIVE = {"active": True, "default": False}
_UNRESTRICTED = {**_ACTIVE, "restriction": None}
VIEWS: RuleKind[ViewId, ViewBody] = RuleKind(views, _UNRESTRICTED, _build_view)
MACROS: RuleKind[MacroId, MacroBody] = RuleKind(macros, _UNRESTRICTED, _build_macro)
TRIGGERS: RuleKind[TriggerId, TriggerBody] = RuleKind(triggers, _ACTIVE, _build_trigger)
AUTOMATIONS: RuleKind[AutomationId, TriggerBody] = RuleKind(automations, _ACTIVE, _build_automation)
SLA_POLICIES: RuleKind[SlaPolicyId, SlaPolicyBody] = RuleKind(sla_policies, {}, _build_policy)
