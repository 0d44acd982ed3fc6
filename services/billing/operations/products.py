"""Products and prices; the amount of a price never changes, a new price takes its place."""

from typing import Any

from services.billing import money
from services.billing.errors import InvalidRequest
from services.billing.objects.catalogue import (
    PriceBody,
    ProductBody,
    Recurring,
    new_price,
    new_product,
    new_recurring,
)
from services.billing.operations import records
from services.billing.operations.params import Params, merge_metadata, none_if_empty, pick, pick_changes
from services.billing.operations.records import DeletedObject, now
from services.billing.rows import PriceId, ProductId
from services.billing.tables import prices, products
from services.kernel.world import World

_PRODUCT = (
    "name",
    "active",
    "description",
    "images",
    "shippable",
    "statement_descriptor",
    "tax_code",
    "unit_label",
    "url",
)
_PRICE = ("active", "nickname", "tax_behavior")
_LONGEST = {"day": 1095, "week": 156, "month": 36, "year": 3}


def create_product(world: World, params: Params) -> ProductBody:
    body = new_product(created=now(world), name=params["name"])
    if requested := params.get("id"):
        if records.get(world, products, requested) is not None:
            raise InvalidRequest("Product already exists.", "id", "resource_already_exists")
        body["id"] = requested
    body |= _product_changes(body, params)
    body = records.add(world, products, body, "product.created")
    if default := params.get("default_price_data"):
        price = create_price(world, {**default, "product": body["id"]})
        body = records.change(world, products, body, {"default_price": price["id"]}, "product.updated")
    return body


def update_product(world: World, key: ProductId, params: Params) -> ProductBody:
    body = records.need(world, products, key)
    changes = _product_changes(body, params) | {"updated": now(world)}
    if price := params.get("default_price"):
        if records.refer(world, prices, price, "default_price")["product"] != key:
            raise InvalidRequest("The default price must belong to the product.", "default_price")
        changes["default_price"] = price
    return records.change(world, products, body, changes, "product.updated")


def delete_product(world: World, key: ProductId) -> DeletedObject:
    body = records.need(world, products, key)
    if records.find_by(world, prices, product=key):
        raise InvalidRequest("This product cannot be deleted because it has one or more user-created prices.", "id")
    return records.remove(world, products, body, "product.deleted")


def _product_changes(body: ProductBody, params: Params) -> ProductBody:
    changes: ProductBody = pick(params, _PRODUCT)
    if "images" in changes:
        changes["images"] = changes["images"] or []
    if "name" in changes and changes["name"] is None:
        raise InvalidRequest("You passed an empty string for 'name'.", "name", "parameter_invalid_empty")
    if "metadata" in params:
        changes["metadata"] = merge_metadata(body["metadata"], params["metadata"])
    return changes


def create_price(world: World, params: Params) -> PriceBody:
    product = _product_of(world, params)
    currency = params["currency"]
    require_currency(currency)
    body = new_price(
        created=now(world),
        product=product,
        currency=currency,
        unit_amount=_amount(params),
        recurring=_recurring(params.get("recurring")),
    )
    sent: Any = {name: params[name] for name in _PRICE if params.get(name) is not None}
    body |= sent
    body["metadata"] = merge_metadata({}, params.get("metadata"))
    body["lookup_key"] = _free_key(world, params)
    return records.add(world, prices, body, "price.created")


def update_price(world: World, key: PriceId, params: Params) -> PriceBody:
    body = records.need(world, prices, key)
    changes: PriceBody = pick_changes(body, params, _PRICE)
    if "lookup_key" in params:
        changes["lookup_key"] = _free_key(world, params)
    return records.change(world, prices, body, changes, "price.updated")


def require_currency(currency: str, param: str = "currency") -> None:
    if currency not in money.CURRENCIES:
        raise InvalidRequest(f"Invalid currency: {currency}. Stripe does not support it.", param)


def _product_of(world: World, params: Params) -> ProductId:
    if data := params.get("product_data"):
        if params.get("product"):
            raise InvalidRequest("You may only specify one of these parameters: product, product_data.", "product")
        return create_product(world, data)["id"]
    if not params.get("product"):
        raise InvalidRequest("Missing required param: product.", "product", "parameter_missing")
    return records.refer(world, products, params["product"], "product")["id"]


def _amount(params: Params) -> int:
    amount = params.get("unit_amount")
    if amount is None and (exact := params.get("unit_amount_decimal")) is not None:
        if exact != int(exact):
            raise InvalidRequest("Only whole minor units are billed on this account.", "unit_amount_decimal")
        amount = int(exact)
    if amount is None:
        raise InvalidRequest("Missing required param: unit_amount.", "unit_amount", "parameter_missing")
    if amount < 0:
        raise InvalidRequest("Invalid non-negative integer", "unit_amount", "parameter_invalid_integer")
    return int(amount)


def _recurring(params: Params | None) -> Recurring | None:
    if params is None:
        return None
    count = params.get("interval_count") or 1
    if not 1 <= count <= _LONGEST[params["interval"]]:
        raise InvalidRequest("The interval may be three years at most.", "recurring[interval_count]")
    return new_recurring(params["interval"], count)


def _free_key(world: World, params: Params) -> str | None:
    lookup_key: str | None = none_if_empty(params.get("lookup_key"))
    if lookup_key is None:
        return None
    for price in records.find_by(world, prices, lookup_key=lookup_key):
        if not params.get("transfer_lookup_key"):
            raise InvalidRequest(f"A price ({price['id']}) already uses that lookup key.", "lookup_key")
        records.change(world, prices, price, {"lookup_key": None}, "price.updated")
    return lookup_key
