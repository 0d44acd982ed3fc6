"""`expand`: ids become the objects they stand for, along dotted paths of at most four steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.billing.errors import InvalidRequest
from services.billing.operations import records
from services.billing.operations.records import Body
from services.billing.operations.showing import INCLUDED, shown
from services.billing.tables import BY_KIND
from services.kernel.world import World

_DEEPEST = 4

# Which fields hold ids, and of what.
_HOLDS: Mapping[str, Mapping[str, str]] = {
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


def expanded(world: World, body: Body, paths: Sequence[str]) -> Body:
    for path in paths:
        steps = path.split(".")
        if len([step for step in steps if step != "data"]) > _DEEPEST:
            raise InvalidRequest(f"You cannot expand more than {_DEEPEST} levels of a property: {path}", "expand")
        _expand(world, body, steps, path)
    return body


def _expand(world: World, node: Body, steps: list[str], path: str) -> None:
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


def _replace(world: World, node: Body, name: str, path: str, rest: list[str]) -> bool:
    """Whether this object has such a field; if it has, its ids are objects now."""
    kind = node["object"]
    if (kind, name) in INCLUDED:
        node[name] = node.get(name) or INCLUDED[kind, name](world, node["id"])
        _deeper(world, node[name], rest, path)
        return True
    if name in _HOLDS.get(kind, {}):
        *outer, last = name.split(".")
        holder = _holder(node, outer)
        if holder is not None and holder.get(last) is not None:
            holder[last] = _loaded(world, holder[last], _HOLDS[kind][name])
            for inner in holder[last] if isinstance(holder[last], list) else [holder[last]]:
                _deeper(world, inner, rest, path)
        return True
    if rest and isinstance(node.get(name), dict) and "object" in node[name]:
        _deeper(world, node[name], rest, path)
        return True
    return False


def _holder(node: Body, outer: list[str]) -> Body | None:
    """The part of an object that a path leads to, copied along the way: rows of ours are never written into."""
    for name in outer:
        if not isinstance(node.get(name), dict):
            return None
        node[name] = dict(node[name])
        node = node[name]
    return node


def _loaded(world: World, held: Any, kind: str) -> Any:
    if isinstance(held, list):
        return [_loaded(world, one, kind) for one in held]
    if not isinstance(held, str):
        return held
    table = BY_KIND[kind or _SOURCES[held.partition("_")[0]]]
    body = records.get(world, table, held)
    return held if body is None else shown(world, body)


def _cannot(path: str) -> InvalidRequest:
    return InvalidRequest(f"This property cannot be expanded ({path}).", "expand")
