"""Products, prices, coupons and promotion codes."""

from typing import Annotated

from fastapi import Query, Response

from services.billing.operations import catalogue, coupons, records
from services.billing.operations.listing import Where
from services.billing.routes.base import EVERYTHING, Plain, found, gone, many, noun_router, one
from services.billing.schemas import shown
from services.billing.schemas.base import Searched
from services.billing.schemas.catalogue import (
    CouponChange,
    CouponIn,
    CouponList,
    PriceChange,
    PriceIn,
    PriceList,
    ProductChange,
    ProductIn,
    ProductList,
    PromotionCodeChange,
    PromotionCodeIn,
    PromotionCodeList,
)
from services.billing.schemas.shown import Deleted, Found, Page
from services.billing.tables import coupons as coupon_rows
from services.billing.tables import prices, products, promotion_codes
from services.kernel.app import CurrentWorld

router = noun_router("catalogue")


@router.post("/products", operation_id="billing.products.create", response_model=shown.Product)
async def create_product(body: ProductIn, world: CurrentWorld) -> Response:
    """Create a product, optionally with its default price."""
    return one(world, catalogue.create_product(world, body.given()), body)


@router.get("/products", operation_id="billing.products.list", response_model=Page[shown.Product])
async def list_products(asked: Annotated[ProductList, Query()], world: CurrentWorld) -> Response:
    """List products, newest first."""
    where = Where(among={"id": asked.ids}) if asked.ids else EVERYTHING
    return many(world, products, asked, "/v1/products", where, ("active",))


@router.get("/products/search", operation_id="billing.products.search", response_model=Found[shown.Product])
async def search_products(asked: Annotated[Searched, Query()], world: CurrentWorld) -> Response:
    """Search products by name, active, created or metadata."""
    return found(world, products, asked, "/v1/products/search")


@router.get("/products/{id}", operation_id="billing.products.get", response_model=shown.Product)
async def read_product(id: str, asked: Plain, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Read one product."""
    return one(world, records.need(world, products, id), asked)


@router.post("/products/{id}", operation_id="billing.products.update", response_model=shown.Product)
async def update_product(id: str, world: CurrentWorld, body: ProductChange | None = None) -> Response:  # noqa: A002 - the vendor's name
    """Change a product."""
    return one(world, catalogue.update_product(world, id, body.given() if body else {}), body)


@router.delete("/products/{id}", operation_id="billing.products.delete", response_model=Deleted)
async def delete_product(id: str, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Delete a product that has no prices."""
    return gone(catalogue.delete_product(world, id))


@router.post("/prices", operation_id="billing.prices.create", response_model=shown.Price)
async def create_price(body: PriceIn, world: CurrentWorld) -> Response:
    """Create a price; its amount never changes."""
    return one(world, catalogue.create_price(world, body.given()), body)


@router.get("/prices", operation_id="billing.prices.list", response_model=Page[shown.Price])
async def list_prices(asked: Annotated[PriceList, Query()], world: CurrentWorld) -> Response:
    """List prices, newest first."""
    where = Where(among={"lookup_key": asked.lookup_keys}) if asked.lookup_keys else EVERYTHING
    return many(world, prices, asked, "/v1/prices", where, ("active", "currency", "product", "type"))


@router.get("/prices/search", operation_id="billing.prices.search", response_model=Found[shown.Price])
async def search_prices(asked: Annotated[Searched, Query()], world: CurrentWorld) -> Response:
    """Search prices by product, lookup_key, currency, type, active or metadata."""
    return found(world, prices, asked, "/v1/prices/search")


@router.get("/prices/{price}", operation_id="billing.prices.get", response_model=shown.Price)
async def read_price(price: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one price."""
    return one(world, records.need(world, prices, price), asked)


@router.post("/prices/{price}", operation_id="billing.prices.update", response_model=shown.Price)
async def update_price(price: str, world: CurrentWorld, body: PriceChange | None = None) -> Response:
    """Change a price's nickname, lookup key, metadata, or whether it is active."""
    return one(world, catalogue.update_price(world, price, body.given() if body else {}), body)


@router.post("/coupons", operation_id="billing.coupons.create", response_model=shown.Coupon)
async def create_coupon(body: CouponIn, world: CurrentWorld) -> Response:
    """Create a coupon: a percentage, or an amount in one currency."""
    return one(world, coupons.create(world, body.given()), body)


@router.get("/coupons", operation_id="billing.coupons.list", response_model=Page[shown.Coupon])
async def list_coupons(asked: Annotated[CouponList, Query()], world: CurrentWorld) -> Response:
    """List coupons, newest first."""
    return many(world, coupon_rows, asked, "/v1/coupons", Where(empty=("deleted",)))


@router.get("/coupons/{coupon}", operation_id="billing.coupons.get", response_model=shown.Coupon)
async def read_coupon(coupon: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one coupon."""
    return one(world, coupons.read(world, coupon), asked)


@router.post("/coupons/{coupon}", operation_id="billing.coupons.update", response_model=shown.Coupon)
async def update_coupon(coupon: str, world: CurrentWorld, body: CouponChange | None = None) -> Response:
    """Change a coupon's name or metadata."""
    return one(world, coupons.update(world, coupon, body.given() if body else {}), body)


@router.delete("/coupons/{coupon}", operation_id="billing.coupons.delete", response_model=Deleted)
async def delete_coupon(coupon: str, world: CurrentWorld) -> Response:
    """Delete a coupon; discounts that came of it run on."""
    return gone(coupons.delete(world, coupon))


@router.post("/promotion_codes", operation_id="billing.promotion_codes.create", response_model=shown.PromotionCode)
async def create_code(body: PromotionCodeIn, world: CurrentWorld) -> Response:
    """Create a code that customers can redeem."""
    return one(world, coupons.create_code(world, body.given()), body)


@router.get("/promotion_codes", operation_id="billing.promotion_codes.list", response_model=Page[shown.PromotionCode])
async def list_codes(asked: Annotated[PromotionCodeList, Query()], world: CurrentWorld) -> Response:
    """List promotion codes; look one up by its `code`."""
    filters = ("active", "code", "coupon", "customer")
    return many(world, promotion_codes, asked, "/v1/promotion_codes", EVERYTHING, filters)


@router.get(
    "/promotion_codes/{promotion_code}",
    operation_id="billing.promotion_codes.get",
    response_model=shown.PromotionCode,
)
async def read_code(promotion_code: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one promotion code."""
    return one(world, records.need(world, promotion_codes, promotion_code), asked)


@router.post(
    "/promotion_codes/{promotion_code}",
    operation_id="billing.promotion_codes.update",
    response_model=shown.PromotionCode,
)
async def update_code(promotion_code: str, world: CurrentWorld, body: PromotionCodeChange | None = None) -> Response:
    """Switch a promotion code on or off, or change its metadata."""
    return one(world, coupons.update_code(world, promotion_code, body.given() if body else {}), body)
