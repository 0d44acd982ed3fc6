"""Products, prices, coupons and promotion codes through the vendor's SDK."""

from decimal import Decimal

import pytest
import stripe


def test_a_product_comes_with_its_default_price(v1) -> None:
    made = v1.products.create(
        {
            "name": "Pro",
            "default_price_data": {"currency": "eur", "unit_amount": 2000, "recurring": {"interval": "month"}},
            "expand": ["default_price"],
        }
    )

    assert isinstance(made, stripe.Product)
    assert isinstance(made.default_price, stripe.Price)
    assert made.default_price.unit_amount_decimal == Decimal(2000)
    assert v1.products.update(made.id, {"active": False, "description": "old"}).active is False
    assert made.id not in [one.id for one in v1.products.list({"active": True}).data]
    assert [one.id for one in v1.products.search({"query": "name~'pro' AND active:'false'"}).data] == [made.id]
    with pytest.raises(stripe.InvalidRequestError, match="has one or more"):
        v1.products.delete(made.id)


def test_a_product_without_prices_can_go(v1) -> None:
    made = v1.products.create({"name": "Leaflet", "id": "leaflet"})

    assert v1.products.retrieve("leaflet").name == "Leaflet"
    assert v1.products.delete(made.id).deleted
    with pytest.raises(stripe.InvalidRequestError, match="No such product: 'leaflet'"):
        v1.products.retrieve("leaflet")


def test_prices_are_looked_up_by_key_and_never_change_their_amount(v1) -> None:
    found = v1.prices.list({"lookup_keys": ["starter_month", "team_year"], "expand": ["data.product"]})
    starter = next(one for one in found.data if one.lookup_key == "starter_month")

    assert {one.lookup_key for one in found.data} == {"starter_month", "team_year"}
    assert starter.product.name == "Starter"
    assert v1.prices.retrieve(starter.id).recurring.interval == "month"
    assert v1.prices.update(starter.id, {"nickname": "S"}).nickname == "S"
    assert starter.id in [one.id for one in v1.prices.search({"query": "product:'prod_starter'"}).data]
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.prices.update(starter.id, {"unit_amount": 1})
    assert (refused.value.code, refused.value.param) == ("parameter_unknown", "unit_amount")


@pytest.mark.parametrize(("currency", "amount"), [("jpy", 500), ("kwd", 12345), ("usd", 999)])
def test_prices_exist_in_currencies_of_every_kind(v1, currency: str, amount: int) -> None:
    made = v1.prices.create(
        {
            "product": "prod_team",
            "currency": currency.upper(),
            "unit_amount": amount,
            "recurring": {"interval": "week", "interval_count": 2},
        }
    )

    assert (made.currency, made.unit_amount, made.recurring.interval_count) == (currency, amount, 2)


def test_coupons_and_their_codes_are_made_found_and_taken_back(v1, account) -> None:
    coupon = v1.coupons.create(
        {
            "percent_off": Decimal("25.5"),
            "duration": "repeating",
            "duration_in_months": 3,
            "name": "Sorry",
            "id": "SORRY25",
        }
    )
    code = v1.promotion_codes.create(
        {"promotion": {"type": "coupon", "coupon": "SORRY25"}, "code": "FALL20", "max_redemptions": 1}
    )
    found = v1.promotion_codes.list({"code": "FALL20", "active": True, "expand": ["data.promotion.coupon"]})

    assert isinstance(coupon, stripe.Coupon)
    assert (coupon.percent_off, coupon.valid) == (25.5, True)
    assert found.data[0].promotion.coupon.id == "SORRY25"
    assert v1.promotion_codes.retrieve(code.id).promotion.coupon == "SORRY25"
    assert v1.promotion_codes.update(code.id, {"active": False}).active is False
    assert v1.coupons.update("SORRY25", {"name": "Very sorry"}).name == "Very sorry"
    assert "SORRY25" in [one.id for one in v1.coupons.list().data]
    assert v1.coupons.delete("SORRY25").deleted
    with pytest.raises(stripe.InvalidRequestError):
        v1.coupons.retrieve("SORRY25")


def test_a_coupon_with_a_strange_name_is_found_again(v1) -> None:
    v1.coupons.create({"id": "50% OFF/ü", "amount_off": 500, "currency": "eur"})

    assert v1.coupons.retrieve("50% OFF/ü").amount_off == 500


def test_a_coupon_expires_on_its_day(v1, account) -> None:
    at = account.world.clock.now_ms() // 1000 + 86_400
    v1.coupons.create({"id": "TODAY", "percent_off": 10, "redeem_by": at})

    account.wait(2)

    assert v1.coupons.retrieve("TODAY").valid is False
    customer = v1.customers.list({"limit": 1}).data[0].id
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.invoices.create({"customer": customer, "discounts": [{"coupon": "TODAY"}]})
    assert refused.value.code == "coupon_expired"
