"""`expand`: ids become the objects they stand for, along dotted paths of at most four steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.billing.errors import InvalidRequest
from services.billing.operations import records
from services.billing.operations.rendering import EXPANDABLE_LISTS, WireObject, render
from services.billing.tables import BY_KIND
from services.kernel.world import World

_DEEPEST = 4

# Which fields of an object hold ids, and of which objects.
_REFERENCES: Mapping[str, Mapping[str, str]] = {
    "customer": {"invoice_settings.default_payment_method": "payment_method", "default_source": "payment_method"},
    "tax_id": {"customer": "customer", "owner.customer": "customer"},
    "customer_balance_transaction": {"customer": "customer", "invoice": "invoice", "credit_note": "credit_note"},
    "product": {"default_price": "price"},
    "price": {"product": "product"},
    "promotion_code": {"promotion.coupon": "coupon", "customer": "customer"},
    "discount": {"source.coupon": "coupon", "promotion_code": "promotion_code", "customer": "customer"},
    "subscription": {
        "customer": "customer",
        "latest_invoice": "invoice",
        "default_payment_method": "payment_method",
        "discounts": "discount",
        "schedule": "subscription_schedule",
    },
    "subscription_item": {"discounts": "discount"},
    "subscription_schedule": {
        "customer": "customer",
        "subscription": "subscription",
        "released_subscription": "subscription",
    },
    "invoice": {
        "customer": "customer",
        "default_payment_method": "payment_method",
        "discounts": "discount",
        "parent.subscription_details.subscription": "subscription",
    },
    "line_item": {
        "discounts": "discount",
        "pricing.price_details.price": "price",
        "pricing.price_details.product": "product",
        "subscription": "subscription",
    },
    "invoiceitem": {"customer": "customer", "invoice": "invoice", "pricing.price_details.price": "price"},
    "invoice_payment": {"invoice": "invoice", "payment.payment_intent": "payment_intent"},
    "credit_note": {
        "customer": "customer",
        "invoice": "invoice",
        "customer_balance_transaction": "customer_balance_transaction",
    },
    "charge": {
        "customer": "customer",
        "balance_transaction": "balance_transaction",
        "payment_intent": "payment_intent",
    },
    "payment_intent": {"customer": "customer", "latest_charge": "charge", "payment_method": "payment_method"},
    "refund": {
        "charge": "charge",
        "payment_intent": "payment_intent",
        "balance_transaction": "balance_transaction",
    },
    "payment_method": {"customer": "customer"},
    "dispute": {"charge": "charge", "payment_intent": "payment_intent"},
    "balance_transaction": {"source": ""},
}
_SOURCES = {"ch": "charge", "re": "refund", "du": "dispute"}


def expand(world: World, body: WireObject, paths: Sequence[str]) -> WireObject:
    for path in paths:
        steps = path.split(".")
        if len([step for step in steps if step != "data"]) > _DEEPEST:
            raise InvalidRequest(f"You cannot expand more than {_DEEPEST} levels of a property: {path}", "expand")
        _expand(world, body, steps, path)
    return body


def _expand(world: World, node: WireObject, steps: list[str], path: str) -> None:
    if node.get("object") in ("list", "search_result"):
        if steps[0] != "data":
            raise _cannot(path)
        for inner in node["data"]:
            _deeper(world, inner, steps[1:], path)
        return
    for length in range(1, len(steps) + 1):
        name = ".".join(steps[:length])
        if _replace(world, node, name, path, steps[length:]):
            return
    raise _cannot(path)


def _deeper(world: World, inner: Any, steps: list[str], path: str) -> None:
    if steps and isinstance(inner, dict) and not inner.get("deleted"):
        _expand(world, inner, steps, path)


def _replace(world: World, node: WireObject, name: str, path: str, rest: list[str]) -> bool:
    """Replaces the ids in a field by objects; returns whether the object has such a field."""
    kind = node["object"]
    if (kind, name) in EXPANDABLE_LISTS:
        node[name] = node.get(name) or EXPANDABLE_LISTS[kind, name](world, node["id"])
        _deeper(world, node[name], rest, path)
        return True
    if name in _REFERENCES.get(kind, {}):
        *outer, last = name.split(".")
        holder = _holder(node, outer)
        if holder is not None and holder.get(last) is not None:
            holder[last] = _load(world, holder[last], _REFERENCES[kind][name])
            for inner in holder[last] if isinstance(holder[last], list) else [holder[last]]:
                _deeper(world, inner, rest, path)
        return True
    # An event holds `data.object`, an object itself: only a text names a kind.
    if rest and isinstance(node.get(name), dict) and isinstance(node[name].get("object"), str):
        _deeper(world, node[name], rest, path)
        return True
    return False


def _holder(node: WireObject, outer: list[str]) -> WireObject | None:
    """Returns the part of an object that a path leads to, copied along the way: our rows are never written into."""
    for name in outer:
        if not isinstance(node.get(name), dict):
            return None
        node[name] = dict(node[name])
        node = node[name]
    return node


def _load(world: World, reference: Any, kind: str) -> Any:
    if isinstance(reference, list):
        return [_load(world, key, kind) for key in reference]
    if not isinstance(reference, str):
        return reference
    table = BY_KIND[kind or _SOURCES[reference.partition("_")[0]]]
    body = records.get(world, table, reference)
    return reference if body is None else render(world, body)


def _cannot(path: str) -> InvalidRequest:
    return InvalidRequest(f"This property cannot be expanded ({path}).", "expand")
