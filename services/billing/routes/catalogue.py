"""Products, prices, coupons and promotion codes."""

from services.billing.operations import coupons, products
from services.billing.routes import endpoints as serve
from services.billing.routes.endpoints import register
from services.billing.schemas import catalogue as schemas
from services.billing.schemas.responses import Coupon, Deleted, Price, Product, PromotionCode, make_search_page, page_of
from services.billing.tables import coupons as coupon_rows
from services.billing.tables import prices, promotion_codes
from services.billing.tables import products as product_rows
from services.kernel.documents import EVERYTHING, Where, among, is_null
from services.kernel.operations import Operation
from services.kernel.world import World


def _with_ids(_: World, query: schemas.ProductList) -> Where:
    return among("id", query.ids) if query.ids else EVERYTHING


def _with_lookup_keys(_: World, query: schemas.PriceList) -> Where:
    return among("lookup_key", query.lookup_keys) if query.lookup_keys else EVERYTHING


# fmt: off
_OPERATIONS = (
    Operation("billing.products.create", "POST", "/v1/products", "Create Product", Product,
              serve.post(schemas.ProductIn, products.create_product),
              "Create a product, optionally with its default price."),
    Operation("billing.products.list", "GET", "/v1/products", "List Products", page_of(Product),
              serve.list_rows(schemas.ProductList, product_rows, ("active",), _with_ids),
              "List products, newest first."),
    Operation("billing.products.search", "GET", "/v1/products/search", "Search Products", make_search_page(Product),
              serve.search(product_rows), "Search products by name, active, created or metadata."),
    Operation("billing.products.get", "GET", "/v1/products/{id}", "Read Product", Product, serve.read_row(product_rows),
              "Read one product."),
    Operation("billing.products.update", "POST", "/v1/products/{id}", "Update Product", Product,
              serve.post_optional(schemas.ProductChange, products.update_product), "Change a product."),
    Operation("billing.products.delete", "DELETE", "/v1/products/{id}", "Delete Product", Deleted,
              serve.delete(products.delete_product), "Delete a product that has no prices."),
    Operation("billing.prices.create", "POST", "/v1/prices", "Create Price", Price,
              serve.post(schemas.PriceIn, products.create_price), "Create a price; its amount never changes."),
    Operation("billing.prices.list", "GET", "/v1/prices", "List Prices", page_of(Price),
              serve.list_rows(schemas.PriceList, prices, ("active", "currency", "product", "type"), _with_lookup_keys),
              "List prices, newest first."),
    Operation("billing.prices.search", "GET", "/v1/prices/search", "Search Prices", make_search_page(Price),
              serve.search(prices), "Search prices by product, lookup_key, currency, type, active or metadata."),
    Operation("billing.prices.get", "GET", "/v1/prices/{price}", "Read Price", Price, serve.read_row(prices),
              "Read one price."),
    Operation("billing.prices.update", "POST", "/v1/prices/{price}", "Update Price", Price,
              serve.post_optional(schemas.PriceChange, products.update_price),
              "Change a price's nickname, lookup key, metadata, or whether it is active."),
    Operation("billing.coupons.create", "POST", "/v1/coupons", "Create Coupon", Coupon,
              serve.post(schemas.CouponIn, coupons.create),
              "Create a coupon: a percentage, or an amount in one currency."),
    Operation("billing.coupons.list", "GET", "/v1/coupons", "List Coupons", page_of(Coupon),
              serve.list_rows(schemas.CouponList, coupon_rows, where=lambda *_: is_null("deleted")),
              "List coupons, newest first."),
    Operation("billing.coupons.get", "GET", "/v1/coupons/{coupon}", "Read Coupon", Coupon,
              serve.read(coupons.need_coupon), "Read one coupon."),
    Operation("billing.coupons.update", "POST", "/v1/coupons/{coupon}", "Update Coupon", Coupon,
              serve.post_optional(schemas.CouponChange, coupons.update), "Change a coupon's name or metadata."),
    Operation("billing.coupons.delete", "DELETE", "/v1/coupons/{coupon}", "Delete Coupon", Deleted,
              serve.delete(coupons.delete), "Delete a coupon; discounts that came of it run on."),
    Operation("billing.promotion_codes.create", "POST", "/v1/promotion_codes", "Create Code", PromotionCode,
              serve.post(schemas.PromotionCodeIn, coupons.create_code), "Create a code that customers can redeem."),
    Operation("billing.promotion_codes.list", "GET", "/v1/promotion_codes", "List Codes", page_of(PromotionCode),
              serve.list_rows(schemas.PromotionCodeList, promotion_codes, ("active", "code", "coupon", "customer")),
              "List promotion codes; look one up by its `code`."),
    Operation("billing.promotion_codes.get", "GET", "/v1/promotion_codes/{promotion_code}", "Read Code", PromotionCode,
              serve.read_row(promotion_codes), "Read one promotion code."),
    Operation("billing.promotion_codes.update", "POST", "/v1/promotion_codes/{promotion_code}", "Update Code",
              PromotionCode, serve.post_optional(schemas.PromotionCodeChange, coupons.update_code),
              "Switch a promotion code on or off, or change its metadata."),
)
# fmt: on

router = register("catalogue", _OPERATIONS)
