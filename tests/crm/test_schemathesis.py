"""Thousands of generated requests against the product's OpenAPI: no 5xx, no answer that the document does not promise."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.schemas import BaseSchema

from services.crm.kinds import STANDARD
from services.crm.product import product
from services.kernel.config import Settings
from services.kernel.episodes import Opening
from services.kernel.serve import Service
from tests.crm.account import COMPANIES, CONTACTS, DEALS, NOTES, OWNER, TICKETS, build_account

TOKEN = "pat-na1-generated"
LEAST_CASES = 5_000
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
EXAMPLES = {POSITIVE: 30, NEGATIVE: 20}
# The object types share their schemas: what one of them was tried with need not be repeated in full on every other.
EXAMPLES_OF_TWINS = {POSITIVE: 6, NEGATIVE: 4}
TWINS = frozenset(kind.name for kind in STANDARD) - {"contacts"}
NOUNS = (
    *(kind.name for kind in STANDARD),
    "objects", "associations", "association_labels", "associations_v3", "association_types", "owners", "pipelines",
    "pipeline_stages", "properties", "property_groups", "lists", "list_memberships", "imports", "schemas",
)  # fmt: skip
# Some requests of each operation should reach something: real values for what a random text would never hit.
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
served: Counter[GenerationMode] = Counter()

# 400 belongs to the vendor's answers to requests that fit the schema and cannot be meant: an unknown property, a taken
# name. Everything else is as strict as schemathesis has it.
CONFIG = {
    "checks": {"enabled": True, "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "403", "404", "409"]}}
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("generated")
    build_account(folder / "worlds")
    running = Service(product, Settings(var=Path(folder), door_token="door"))
    yield running
    running.episodes.worlds.close()


@pytest.fixture(scope="module")
def schema(service: Service) -> BaseSchema:
    config = SchemathesisConfig.from_dict(CONFIG)
    return schemathesis.openapi.from_asgi("/openapi.json", service.agent_app(), config=config)


@pytest.mark.slow
@pytest.mark.parametrize("noun", NOUNS)
def test_generated_requests_meet_only_what_is_documented(service: Service, schema: BaseSchema, noun: str) -> None:
    episode = service.episodes.open(Opening(noun, TOKEN, 7, "standard"))
    try:
        for operation in _operations(schema, noun):
            for mode in _modes(operation):
                _try(operation, mode, (EXAMPLES_OF_TWINS if noun in TWINS else EXAMPLES)[mode])
        assert episode.broken is None
    finally:
        service.episodes.close(episode)


@pytest.mark.slow
def test_there_were_thousands_of_them() -> None:
    assert sum(served.values()) >= LEAST_CASES, served


def _operations(schema: BaseSchema, noun: str) -> list[Any]:
    found = [one.ok() for one in schema.get_all_operations()]
    chosen = [one for one in found if str(one.definition.raw["operationId"]).split(".")[1] == noun]
    assert chosen, f"no operation of {noun}"
    return chosen


def _modes(operation: Any) -> list[GenerationMode]:
    """A path of free texts and nothing else leaves nothing to get wrong."""
    negatable = bool(list(operation.body) or list(operation.query))
    return [POSITIVE, NEGATIVE] if negatable else [POSITIVE]


def _try(operation: Any, mode: GenerationMode, examples: int) -> None:
    turns = itertools.count()

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def generated(case: Case) -> None:
        if mode is POSITIVE and next(turns) % 3:
            _aim(case, next(turns))
        served[mode] += 1
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"})

    generated()


def _aim(case: Case, turn: int) -> None:
    for name in case.path_parameters or {}:
        choices = REAL.get(name, RECORDS if name.endswith("Id") else ())
        if choices:
            case.path_parameters[name] = choices[turn % len(choices)]
