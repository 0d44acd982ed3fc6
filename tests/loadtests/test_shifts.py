"""Every product has somebody to work a shift at it."""

from loadtests.life import SHIFTS
from services.kernel import catalog


def test_every_product_of_the_catalogue_is_worked_at() -> None:
    assert set(SHIFTS) == set(catalog.names())
