"""Properties that the CRM computes: written once, as SQL over `objects o`, for reading and searching alike."""

from collections.abc import Iterable

import orjson

from services.crm.kinds import ENGAGEMENTS, Kind
from services.kernel.clock import iso
from services.kernel.world import World

_DAY_MS = 86_400_000


def _count(of_kind: str) -> str:
    return f"(SELECT count(DISTINCT to_id) FROM associations WHERE from_id = o.id AND to_kind = '{of_kind}')"  # noqa: S608 - our own names


def _end(of_kind: str, type_id: int) -> str:
    return (
        f"(SELECT to_id FROM associations WHERE from_id = o.id AND to_kind = '{of_kind}' "  # noqa: S608 - our own names
        f"AND type_id = {type_id})"
    )


def _real(record: str, name: str) -> str:
    return f"CAST({record}.properties ->> '$.{name}' AS REAL)"


def _stage(record: str, kind: str, stage_property: str, key: str) -> str:
    stage_id = f"'{kind}.' || ({record}.properties ->> '$.{stage_property}')"
    return f"(SELECT metadata ->> '$.{key}' FROM stages WHERE id = {stage_id})"  # noqa: S608 - our own names


def _closed(record: str, kind: str = "deals", stage_property: str = "dealstage") -> str:
    told = _stage(record, kind, stage_property, "isClosed")
    return f"CASE coalesce({told}, 'false') WHEN 'true' THEN 'true' ELSE 'false' END"


def _probability(record: str) -> str:
    return f"CAST({_stage(record, 'deals', 'dealstage', 'probability')} AS REAL)"


def _won(record: str) -> str:
    return f"CASE WHEN {_closed(record)} = 'true' AND {_probability(record)} >= 1.0 THEN 'true' ELSE 'false' END"


def _line_amount(record: str) -> str:
    quantity = f"coalesce({_real(record, 'quantity')}, 1)"
    share = f"(1 - coalesce({_real(record, 'hs_discount_percentage')}, 0) / 100)"
    discount = f"coalesce({_real(record, 'discount')}, 0) * {quantity}"
    return f"max(0, {_real(record, 'price')} * {quantity} * {share} - {discount})"


def _over(of_kind: str, aggregate: str, condition: str = "1") -> str:
    """An aggregate over the live records of a kind associated with this one; they are `d` inside."""
    return (
        f"(SELECT {aggregate} FROM associations a JOIN objects d ON d.id = a.to_id "  # noqa: S608 - expressions of our own
        f"WHERE a.from_id = o.id AND a.to_kind IN ({of_kind}) AND d.archived_at IS NULL AND {condition})"
    )


_EVERY_ACTIVITY = ", ".join(f"'{kind}'" for kind in ENGAGEMENTS)
_ACTIVITY = {
    "notes_last_contacted": (
        _over("'calls', 'emails', 'meetings', 'communications'", "max(d.indexed ->> '$.hs_timestamp[1]')"),
        "moment",
    ),
    "num_notes": (_over(_EVERY_ACTIVITY, "count(DISTINCT d.id)"), "number"),
}
# A pair may carry several labels: each deal counts once, by its unlabelled row.
_UNLABELLED = "a.type_id = 342"
_OPEN_FOR = "((o.indexed ->> '$.closedate[1]') - o.created_at)"

# kind → property → (SQL, what it yields: number, text or moment in milliseconds)
COMPUTED: dict[str, dict[str, tuple[str, str]]] = {
    "contacts": {
        "associatedcompanyid": (_end("companies", 1), "number"),
        "num_associated_deals": (_count("deals"), "number"),
        **_ACTIVITY,
    },
    "companies": {
        "num_associated_contacts": (_count("contacts"), "number"),
        "num_associated_deals": (_count("deals"), "number"),
        "hs_num_open_deals": (_over("'deals'", "count(*)", f"{_UNLABELLED} AND {_closed('d')} = 'false'"), "number"),
        "total_revenue": (
            _over("'deals'", f"sum({_real('d', 'amount')})", f"{_UNLABELLED} AND {_won('d')} = 'true'"),
            "number",
        ),
        "hs_parent_company_id": (_end("companies", 14), "number"),
        **_ACTIVITY,
    },
    "deals": {
        "hs_is_closed": (_closed("o"), "text"),
        "hs_is_closed_won": (_won("o"), "text"),
        "hs_deal_stage_probability": (_probability("o"), "number"),
        "hs_closed_amount": (f"CASE {_won('o')} WHEN 'true' THEN {_real('o', 'amount')} ELSE 0 END", "number"),
        "hs_forecast_amount": (f"{_real('o', 'amount')} * {_probability('o')}", "number"),
        "days_to_close": (
            f"CASE {_closed('o')} WHEN 'true' THEN max(0, CAST({_OPEN_FOR} / {_DAY_MS} AS INTEGER)) END",
            "number",
        ),
        "num_associated_contacts": (_count("contacts"), "number"),
        **_ACTIVITY,
    },
    "tickets": {
        "hs_ticket_id": ("o.id", "number"),
        "hs_is_closed": (_closed("o", "tickets", "hs_pipeline_stage"), "text"),
        "num_associated_contacts": (_count("contacts"), "number"),
        **_ACTIVITY,
    },
    "line_items": {"amount": (_line_amount("o"), "number")},
    "quotes": {"hs_quote_amount": (_over("'line_items'", f"sum({_line_amount('d')})"), "number")},
}


def system(kind: Kind) -> dict[str, tuple[str, str]]:
    """The columns of `objects` that read as properties."""
    return {
        "hs_object_id": ("o.id", "number"),
        kind.created: ("o.created_at", "moment"),
        kind.modified: ("o.updated_at", "moment"),
    }


def expression(kind: Kind, name: str) -> tuple[str, str] | None:
    return system(kind).get(name) or COMPUTED.get(kind.name, {}).get(name)


def read(world: World, kind: str, names: Iterable[str], ids: list[int]) -> dict[int, dict[str, str | None]]:
    """The computed among these names, for these records."""
    found = COMPUTED.get(kind, {})
    asked = [name for name in names if name in found]
    if not asked:
        return {}
    columns = ", ".join(found[name][0] for name in asked)
    sql = f"SELECT o.id, {columns} FROM objects o WHERE o.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - expressions of our own
    rows = world.rows(sql, (orjson.dumps(ids).decode(),))
    return {
        row[0]: {name: spelt(value, found[name][1]) for name, value in zip(asked, row[1:], strict=True)} for row in rows
    }


def spelt(value: object, yields: str) -> str | None:
    if value is None:
        return None
    if yields == "moment":
        return iso(int(float(str(value))))
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(round(value, 6))
    return str(value)
