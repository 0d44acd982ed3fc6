"""Products and prices. What a price asks never changes; a new price takes its place."""

from typing import Any

from services.billing import money
from services.billing.errors import InvalidRequest
from services.billing.operations import listing, records
from services.billing.operations.listing import Where
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import catalogue
from services.billing.tables import prices, products, subscription_items
from services.kernel.world import World

Given = dict[str, Any]

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
_LONGEST = {"day": 1095, "week": 156, "month": 36, "year": 3}


def create_product(world: World, given: Given) -> Body:
    body = catalogue.product(created=now(world), name=given["name"])
    if wanted := given.get("id"):
        if records.get(world, products, wanted) is not None:
            raise InvalidRequest("Product already exists.", "id", "resource_already_exists")
        body["id"] = wanted
    body |= _product_changes(body, given)
    body = records.add(world, products, body, "product.created")
    if default := given.get("default_price_data"):
        price = create_price(world, {**default, "product": body["id"]})
        body = records.change(world, products, body, {"default_price": price["id"]}, "product.updated")
    return body


def update_product(world: World, key: str, given: Given) -> Body:
    body = records.need(world, products, key)
    changes = {**_product_changes(body, given), "updated": now(world)}
    if price := given.get("default_price"):
        if records.refer(world, prices, price, "default_price")["product"] != key:
            raise InvalidRequest("The default price must belong to the product.", "default_price")
        changes["default_price"] = price
    return records.change(world, products, body, changes, "product.updated")


def delete_product(world: World, key: str) -> Body:
    body = records.need(world, products, key)
    if listing.of(world, prices, product=key):
        raise InvalidRequest("This product cannot be deleted because it has one or more user-created prices.", "id")
    return records.remove(world, products, body, "product.deleted")


def _product_changes(body: Body, given: Given) -> Body:
    changes: Body = {name: cleared(given[name]) for name in _PRODUCT if name in given}
    if "images" in changes:
        changes["images"] = changes["images"] or []
    if changes.get("name", "") is None:
        raise InvalidRequest("You passed an empty string for 'name'.", "name", "parameter_invalid_empty")
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    return changes


def create_price(world: World, given: Given) -> Body:
    product = _product_of(world, given)
    currency = given["currency"]
    need_currency(currency)
    body = catalogue.price(
        created=now(world),
        product=product,
        currency=currency,
        unit_amount=_amount(given),
        recurring=_recurring(given.get("recurring")),
    )
    body |= {name: given[name] for name in ("active", "nickname", "tax_behavior") if given.get(name) is not None}
    body["metadata"] = merged({}, given.get("metadata"))
    body["lookup_key"] = _free_key(world, given)
    return records.add(world, prices, body, "price.created")


def update_price(world: World, key: str, given: Given) -> Body:
    body = records.need(world, prices, key)
    changes: Body = {name: cleared(given[name]) for name in ("active", "nickname", "tax_behavior") if name in given}
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    if "lookup_key" in given:
        changes["lookup_key"] = _free_key(world, given)
    return records.change(world, prices, body, changes, "price.updated")


def need_currency(currency: str, param: str = "currency") -> None:
    if currency not in money.CURRENCIES:
        raise InvalidRequest(f"Invalid currency: {currency}. Stripe does not support it.", param)


def in_use(world: World, price: str) -> bool:
    return bool(listing.every(world, subscription_items, Where(equal={"price": price})))


def _product_of(world: World, given: Given) -> str:
    if data := given.get("product_data"):
        if given.get("product"):
            raise InvalidRequest("You may only specify one of these parameters: product, product_data.", "product")
        return str(create_product(world, data)["id"])
    if not given.get("product"):
        raise InvalidRequest("Missing required param: product.", "product", "parameter_missing")
    return str(records.refer(world, products, given["product"], "product")["id"])


def _amount(given: Given) -> int:
    amount = given.get("unit_amount")
    if amount is None and (exact := given.get("unit_amount_decimal")) is not None:
        if exact != int(exact):
            raise InvalidRequest("Only whole minor units are billed on this account.", "unit_amount_decimal")
        amount = int(exact)
    if amount is None:
        raise InvalidRequest("Missing required param: unit_amount.", "unit_amount", "parameter_missing")
    if amount < 0:
        raise InvalidRequest("Invalid non-negative integer", "unit_amount", "parameter_invalid_integer")
    return int(amount)


def _recurring(given: Given | None) -> Body | None:
    if given is None:
        return None
    count = given.get("interval_count") or 1
    if not 1 <= count <= _LONGEST[given["interval"]]:
        raise InvalidRequest("The interval may be three years at most.", "recurring[interval_count]")
    return catalogue.recurring(given["interval"], count)


def _free_key(world: World, given: Given) -> str | None:
    wanted: str | None = cleared(given.get("lookup_key"))
    if wanted is None:
        return None
    for taken in listing.of(world, prices, lookup_key=wanted):
        if not given.get("transfer_lookup_key"):
            raise InvalidRequest(f"A price ({taken['id']}) already uses that lookup key.", "lookup_key")
        records.change(world, prices, taken, {"lookup_key": None}, "price.updated")
    return wanted
