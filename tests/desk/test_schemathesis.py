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

from services.desk.product import product
from services.kernel.app import create_api
from services.kernel.config import Settings
from services.kernel.episodes import Opening
from services.kernel.serve import Service
from tests.desk.office import CORVANE, LENA, MARA, PRODUCT_FIELD, TECH_GROUP, build_office

TOKEN = "zd_generated"
LEAST_CASES = 5_000
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
EXAMPLES = {POSITIVE: 28, NEGATIVE: 16}
NOUNS = sorted(
    {
        told["operationId"].split(".")[1]
        for methods in create_api(product).openapi()["paths"].values()
        for told in methods.values()
    }
)
# Some requests of each operation should reach something: real values for what a random number would never hit.
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
served: Counter[GenerationMode] = Counter()

# 400, 409 and 422 belong to the vendor's answers to requests that fit the schema and cannot be meant.
CONFIG = {
    "checks": {
        "enabled": True,
        "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "403", "404", "409", "422"]},
    }
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("generated")
    build_office(folder / "worlds")
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
                _try(operation, mode, EXAMPLES[mode])
        assert episode.broken is None
    finally:
        service.episodes.close(episode)


@pytest.mark.slow
def test_there_were_thousands_of_them() -> None:
    assert sum(served.values()) >= LEAST_CASES, served


def _operations(schema: BaseSchema, noun: str) -> list[Any]:
    found = [one.ok() for one in schema.get_all_operations()]
    return [one for one in found if str(one.definition.raw["operationId"]).split(".")[1] == noun]


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
        choices = REAL.get(name, (1, 2, 3, 101, 201) if name.endswith("_id") else ())
        if choices:
            case.path_parameters[name] = choices[turn % len(choices)]
