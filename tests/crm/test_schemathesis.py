"""Thousands of generated requests against the CRM's OpenAPI: no 5xx, no answer that the document does not promise."""

from collections.abc import Iterator

import pytest

from services.crm.object_types import STANDARD
from services.crm.product import product
from tests.contract.generated import NEGATIVE, POSITIVE, Inside, aimed_at, nouns
from tests.crm.account import COMPANIES, CONTACTS, DEALS, NOTES, OWNER, TICKETS, build_account

LEAST_CASES = 5_000
EXAMPLES = {POSITIVE: 30, NEGATIVE: 20}
# The object types share their schemas: what one of them was tried with need not be repeated in full on every other.
EXAMPLES_OF_TWINS = {POSITIVE: 6, NEGATIVE: 4}
TWINS = frozenset(kind.name for kind in STANDARD) - {"contacts"}
REAL = {
    "objectType": ("contacts", "0-2", "deals", "tickets", "notes"),
    "fromObjectType": ("contacts", "deals", "notes"),
    "toObjectType": ("companies", "contacts", "0-2"),
    "objectTypeId": ("0-1", "0-2"),
    "pipelineId": ("default", "0"),
    "stageId": ("closedwon", "qualifiedtobuy", "1"),
    "propertyName": ("email", "amount", "lifecyclestage"),
    "groupName": ("contactinformation", "dealinformation"),
    "ownerId": (str(OWNER),),
    "listId": ("41", "42", "43"),
    "importId": ("1", "2"),
    "associationTypeId": ("279", "10001"),
}
RECORDS = tuple(str(first + at) for first in (CONTACTS, COMPANIES, DEALS, TICKETS, NOTES) for at in range(3))
# 400 belongs to the vendor's answers to requests that fit the schema and cannot be meant: an unknown property, a taken
# name. Everything else is as strict as schemathesis has it.
CHECKS = {"positive_data_acceptance": {"expected-statuses": ["2xx", "400", "403", "404", "409"]}}


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("generated")
    build_account(folder / "worlds")
    made = Inside(product, folder, CHECKS)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("noun", nouns(product))
def test_generated_requests_meet_only_what_is_documented(requests: Inside, noun: str) -> None:
    with requests.opened(noun):
        requests.meet(noun, EXAMPLES_OF_TWINS if noun in TWINS else EXAMPLES, aimed_at(REAL, RECORDS, "Id"))


@pytest.mark.slow
def test_there_were_thousands_of_them(requests: Inside) -> None:
    assert requests.served >= LEAST_CASES
