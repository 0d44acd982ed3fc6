"""Values of a ticket's custom fields, and the tags that go with them."""

from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.operations.records import Body
from services.desk.tables import ticket_fields
from services.kernel.statements import Row
from services.kernel.world import World


def merged(world: World, before: Body, given: list[Body] | dict[str, Any]) -> tuple[Body, set[str], set[str]]:
    """The values after this, and which tags come and go with them; ids that no field has are ignored."""
    pairs = given.items() if isinstance(given, dict) else [(one["id"], one.get("value")) for one in given]
    after, come, go = dict(before), set[str](), set[str]()
    for key, value in pairs:
        field = world.get(ticket_fields, int(key)) if str(key).isascii() and str(key).isdigit() else None
        if field is None or not field["body"].get("removable", True):
            continue
        name = str(field["id"])
        kept = _checked(field, value)
        go |= _tags(field, after.get(name))
        come |= _tags(field, kept)
        after[name] = kept
    return after, come, go - come


def _checked(field: Row, value: Any) -> Any:
    body = field["body"]
    if value in (None, ""):
        return None
    match body["type"]:
        case "tagger":
            return _option(body, value)
        case "multiselect":
            return [_option(body, one) for one in (value if isinstance(value, list) else [value])]
        case "checkbox":
            return value in (True, "true", "1", 1)
        case "integer" | "decimal":
            return _number(body, value)
    return value if isinstance(value, str) else str(value)


def _option(body: Body, value: Any) -> str:
    known = [option["value"] for option in body.get("custom_field_options") or []]
    if value not in known:
        raise RecordInvalid("base", f"{body['title']}: {value} is invalid")
    return str(value)


def _number(body: Body, value: Any) -> str:
    try:
        float(value)
    except (TypeError, ValueError) as error:
        raise RecordInvalid("base", f"{body['title']}: {value} is not a number") from error
    return str(value)


def _tags(field: Row, value: Any) -> set[str]:
    """Options are tags of their own name; a ticked box has the tag that its field names."""
    body = field["body"]
    if body["type"] == "tagger" and value:
        return {value}
    if body["type"] == "multiselect" and value:
        return set(value)
    return {body["tag"]} if body["type"] == "checkbox" and value and body.get("tag") else set()
