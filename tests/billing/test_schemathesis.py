"""Thousands of generated forms against the product's OpenAPI: no 5xx, no answer that the document does not promise."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.schemas import BaseSchema

from services.billing.product import product
from services.billing.tables import BY_PREFIX
from services.kernel.config import Settings
from services.kernel.episodes import Opening
from services.kernel.serve import Service
from tests.billing.company import build_company

TOKEN = "sk_live_generated"
LEAST_CASES = 3_000
EXAMPLES = {GenerationMode.POSITIVE: 18, GenerationMode.NEGATIVE: 8}
NOUNS = (
    "customers", "tax_ids", "products", "prices", "coupons", "promotion_codes", "subscriptions", "subscription_items",
    "subscription_schedules", "invoices", "invoice_items", "invoice_payments", "credit_notes", "charges",
    "payment_intents", "refunds", "payment_methods", "disputes", "events", "balance_transactions", "billing_portal", "files",
)  # fmt: skip
# Which prefix the ids of a parameter have, where its own name does not say it.
OTHER_NAMES = {
    "default_payment_method": "pm", "from_subscription": "sub", "invoice_line_item": "il", "intent": "pi", "item": "si",
    "transaction": "cbtxn", "payment_method": "pm", "schedule": "sub_sched", "promotion_code": "promo",
    "invoiceitem": "ii", "latest_charge": "ch", "source": "ch",
}  # fmt: skip
PREFIXES = {table.info["kind"]: prefix for prefix, table in BY_PREFIX.items()} | OTHER_NAMES
CURRENCIES = ("eur", "jpy", "kwd")
served: Counter[GenerationMode] = Counter()

# A form has only texts, so "not a string" cannot be said and what schemathesis calls wrong is often right.
# 400, 402 and 404 belong to the vendor's answers to requests that fit the schema and cannot be done.
CONFIG = {
    "checks": {
        "enabled": True,
        "negative_data_rejection": {"enabled": False},
        "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "402", "404"]},
    }
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("generated")
    build_company(folder / "worlds")
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
    ids = {
        prefix: [row[0] for row in episode.world.rows(f"SELECT id FROM {table.name} LIMIT 5")]
        for prefix, table in BY_PREFIX.items()
    }
    try:
        for operation in _operations(schema, noun):
            for mode in _modes(operation):
                _try(operation, mode, ids)
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
    negatable = bool(list(operation.body) or list(operation.query))
    return list(EXAMPLES) if negatable else [GenerationMode.POSITIVE]


def _try(operation: Any, mode: GenerationMode, ids: dict[str, list[str]]) -> None:
    turns = itertools.count()

    @settings(
        max_examples=EXAMPLES[mode],
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def generated(case: Case) -> None:
        turn = next(turns)
        if turn % 3:
            case.path_parameters = _aimed(case.path_parameters, ids, turn)
            case.body = _aimed(case.body, ids, turn)
        if case.media_type == "application/x-www-form-urlencoded" and isinstance(case.body, dict):
            case.body = urlencode(list(_brackets(case.body)))
        served[mode] += 1
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"})

    generated()


def _aimed(value: Any, ids: dict[str, list[str]], turn: int, name: str = "") -> Any:
    """Some requests of each operation should reach something: real values for what a random text would never hit."""
    if isinstance(value, dict):
        return {key: _aimed(inner, ids, turn, str(key)) for key, inner in value.items() if str(key) != "expand"}
    if isinstance(value, list):
        return [_aimed(inner, ids, turn, name) for inner in value]
    if name == "currency":
        return CURRENCIES[turn % 3]
    known = ids.get(PREFIXES.get(name, ""), [])
    return known[turn % len(known)] if known and isinstance(value, str) else value


def _brackets(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _brackets(inner, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _brackets(inner, f"{name}[{at}]")
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield name, text.encode("utf-8", "replace").decode()
