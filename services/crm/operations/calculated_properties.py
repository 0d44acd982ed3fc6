"""Properties that the CRM calculates, as SQL over `objects o`: one expression serves reading and searching."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, assert_never

import orjson

from services.crm.object_types import ACTIVITIES, ObjectType
from services.crm.rows import ObjectTypeName, RecordId
from services.kernel.clock import iso
from services.kernel.world import World

_DAY_MS = 86_400_000


class Expression(NamedTuple):
    """An SQL expression over `objects o`, and what its values are; a time counts in milliseconds."""

    sql: str
    type: Literal["number", "text", "time"]


def _count_associated(object_type: str) -> str:
    return f"(SELECT count(DISTINCT to_id) FROM associations WHERE from_id = o.id AND to_kind = '{object_type}')"  # noqa: S608 - names of our own


def _select_associated_id(object_type: str, type_id: int) -> str:
    return (
        f"(SELECT to_id FROM associations WHERE from_id = o.id AND to_kind = '{object_type}' "  # noqa: S608 - names of our own
        f"AND type_id = {type_id})"
    )


def _number(record: str, name: str) -> str:
    return f"CAST({record}.properties ->> '$.{name}' AS REAL)"


def _stage_metadata(record: str, object_type: str, stage_property: str, key: str) -> str:
    stage_id = f"'{object_type}.' || ({record}.properties ->> '$.{stage_property}')"
    return f"(SELECT metadata ->> '$.{key}' FROM stages WHERE id = {stage_id})"  # noqa: S608 - names of our own


def _select_closed(record: str, object_type: str = "deals", stage_property: str = "dealstage") -> str:
    is_closed = _stage_metadata(record, object_type, stage_property, "isClosed")
    return f"CASE coalesce({is_closed}, 'false') WHEN 'true' THEN 'true' ELSE 'false' END"


def _probability(record: str) -> str:
    return f"CAST({_stage_metadata(record, 'deals', 'dealstage', 'probability')} AS REAL)"


def _won(record: str) -> str:
    return f"CASE WHEN {_select_closed(record)} = 'true' AND {_probability(record)} >= 1.0 THEN 'true' ELSE 'false' END"


def _line_amount(record: str) -> str:
    quantity = f"coalesce({_number(record, 'quantity')}, 1)"
    share = f"(1 - coalesce({_number(record, 'hs_discount_percentage')}, 0) / 100)"
    discount = f"coalesce({_number(record, 'discount')}, 0) * {quantity}"
    return f"max(0, {_number(record, 'price')} * {quantity} * {share} - {discount})"


def _aggregate(object_types: str, aggregate: str, condition: str = "1") -> str:
    """Aggregates over the live records of these types that are associated with this one; `d` names them inside."""
    return (
        f"(SELECT {aggregate} FROM associations a JOIN objects d ON d.id = a.to_id "  # noqa: S608 - expressions of our own
        f"WHERE a.from_id = o.id AND a.to_kind IN ({object_types}) AND d.archived_at IS NULL AND {condition})"
    )


_ALL_ACTIVITIES = ", ".join(f"'{object_type}'" for object_type in ACTIVITIES)
_ACTIVITY = {
    "notes_last_contacted": Expression(
        _aggregate("'calls', 'emails', 'meetings', 'communications'", "max(d.indexed ->> '$.hs_timestamp[1]')"), "time"
    ),
    "num_notes": Expression(_aggregate(_ALL_ACTIVITIES, "count(DISTINCT d.id)"), "number"),
}
# A pair of records may carry several labels: each deal counts once, by its unlabelled row.
_UNLABELLED = "a.type_id = 342"
_OPEN_FOR = "((o.indexed ->> '$.closedate[1]') - o.created_at)"

_CALCULATED: dict[str, dict[str, Expression]] = {
    "contacts": {
        "associatedcompanyid": Expression(_select_associated_id("companies", 1), "number"),
        "num_associated_deals": Expression(_count_associated("deals"), "number"),
        **_ACTIVITY,
    },
    "companies": {
        "num_associated_contacts": Expression(_count_associated("contacts"), "number"),
        "num_associated_deals": Expression(_count_associated("deals"), "number"),
        "hs_num_open_deals": Expression(
            _aggregate("'deals'", "count(*)", f"{_UNLABELLED} AND {_select_closed('d')} = 'false'"), "number"
        ),
        "total_revenue": Expression(
            _aggregate("'deals'", f"sum({_number('d', 'amount')})", f"{_UNLABELLED} AND {_won('d')} = 'true'"), "number"
        ),
        "hs_parent_company_id": Expression(_select_associated_id("companies", 14), "number"),
        **_ACTIVITY,
    },
    "deals": {
        "hs_is_closed": Expression(_select_closed("o"), "text"),
        "hs_is_closed_won": Expression(_won("o"), "text"),
        "hs_deal_stage_probability": Expression(_probability("o"), "number"),
        "hs_closed_amount": Expression(
            f"CASE {_won('o')} WHEN 'true' THEN {_number('o', 'amount')} ELSE 0 END", "number"
        ),
        "hs_forecast_amount": Expression(f"{_number('o', 'amount')} * {_probability('o')}", "number"),
        "days_to_close": Expression(
            f"CASE {_select_closed('o')} WHEN 'true' THEN max(0, CAST({_OPEN_FOR} / {_DAY_MS} AS INTEGER)) END",
            "number",
        ),
        "num_associated_contacts": Expression(_count_associated("contacts"), "number"),
        **_ACTIVITY,
    },
    "tickets": {
        "hs_ticket_id": Expression("o.id", "number"),
        "hs_is_closed": Expression(_select_closed("o", "tickets", "hs_pipeline_stage"), "text"),
        "num_associated_contacts": Expression(_count_associated("contacts"), "number"),
        **_ACTIVITY,
    },
    "line_items": {"amount": Expression(_line_amount("o"), "number")},
    "quotes": {"hs_quote_amount": Expression(_aggregate("'line_items'", f"sum({_line_amount('d')})"), "number")},
}


def find_expression(object_type: ObjectType, name: str) -> Expression | None:
    """Returns how to calculate a property; None for a property whose values records hold."""
    if name == "hs_object_id":
        return Expression("o.id", "number")
    if name == object_type.created_property:
        return Expression("o.created_at", "time")
    if name == object_type.modified_property:
        return Expression("o.updated_at", "time")
    return _CALCULATED.get(object_type.name, {}).get(name)


def calculate(
    world: World, type_name: ObjectTypeName, names: Iterable[str], ids: list[RecordId]
) -> dict[RecordId, dict[str, str | None]]:
    """Calculates those of the named properties that are calculated, for these records."""
    expressions = _CALCULATED.get(type_name, {})
    calculated = [name for name in names if name in expressions]
    if not calculated:
        return {}
    columns = ", ".join(expressions[name].sql for name in calculated)
    sql = f"SELECT o.id, {columns} FROM objects o WHERE o.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - expressions of our own
    rows = world.rows(sql, (orjson.dumps(ids).decode(),))
    return {
        row[0]: {name: _as_text(value, expressions[name]) for name, value in zip(calculated, row[1:], strict=True)}
        for row in rows
    }


def _as_text(value: object, expression: Expression) -> str | None:
    if value is None:
        return None
    match expression.type:
        case "time":
            return iso(int(float(str(value))))
        case "number" | "text":
            if isinstance(value, float):
                return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(round(value, 6))
            return str(value)
        case _:
            assert_never(expression.type)
