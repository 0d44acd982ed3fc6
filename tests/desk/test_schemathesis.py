"""Thousands of generated requests against the desk's OpenAPI: no 5xx, no answer that the document does not promise."""

from collections.abc import Iterator

import pytest

from services.desk.product import product
from tests.contract.generated import NEGATIVE, POSITIVE, Inside, aimed_at, nouns
from tests.desk.office import CORVANE, LENA, MARA, PRODUCT_FIELD, TECH_GROUP, build_office

LEAST_CASES = 5_000
EXAMPLES = {POSITIVE: 28, NEGATIVE: 16}
REAL: dict[str, tuple[int | str, ...]] = {
    "ticket_id": (1, 2, 3, 5, 6, 7),
    "request_id": (1, 2, 3, 5, 6, 7),
    "metric_id": (1, 2),
    "comment_id": (10_010, 10_020, 10_030, 10_050),
    "audit_id": (20_001, 20_002),
    "user_id": (LENA, MARA),
    "organization_id": (CORVANE,),
    "group_id": (TECH_GROUP,),
    "field_id": (PRODUCT_FIELD,),
}
OTHERS = (1, 2, 3, 101, 201)
# 400, 409 and 422 belong to the vendor's answers to requests that fit the schema and cannot be meant.
# 413 is a refusal as well: texts that are too long may make a body that is.
CHECKS = {
    "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "403", "404", "409", "422"]},
    "negative_data_rejection": {"expected-statuses": ["4xx"]},
}


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("generated")
    build_office(folder / "worlds")
    made = Inside(product, folder, CHECKS)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("noun", nouns(product))
def test_generated_requests_meet_only_what_is_documented(requests: Inside, noun: str) -> None:
    with requests.opened(noun):
        requests.meet(noun, EXAMPLES, aimed_at(REAL, OTHERS, "_id"))


@pytest.mark.slow
def test_there_were_thousands_of_them(requests: Inside) -> None:
    assert requests.served >= LEAST_CASES
