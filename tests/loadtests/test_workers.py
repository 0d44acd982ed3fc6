"""Every product has a load worker."""

from loadtests.workers import find_workers
from services.kernel import catalog


def test_every_product_of_the_catalogue_has_a_worker() -> None:
    assert set(find_workers()) == set(catalog.names())
