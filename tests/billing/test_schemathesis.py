"""Thousands of generated forms against billing's OpenAPI: no 5xx, no answer that the document does not promise."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from schemathesis import Case, GenerationMode

from services.billing.product import product
from services.billing.tables import BY_PREFIX
from services.kernel.world import World
from tests.billing.company import build_company
from tests.contract.generated import NEGATIVE, POSITIVE, Inside, nouns

LEAST_CASES = 3_000
EXAMPLES = {POSITIVE: 18, NEGATIVE: 8}
# Which prefix the ids of a parameter have, where its own name does not say it.
OTHER_NAMES = {
    "default_payment_method": "pm", "from_subscription": "sub", "invoice_line_item": "il", "intent": "pi", "item": "si",
    "transaction": "cbtxn", "payment_method": "pm", "schedule": "sub_sched", "promotion_code": "promo",
    "invoiceitem": "ii", "latest_charge": "ch", "source": "ch",
}  # fmt: skip
PREFIXES = {table.info["kind"]: prefix for prefix, table in BY_PREFIX.items()} | OTHER_NAMES
CURRENCIES = ("eur", "jpy", "kwd")
# A form has only texts, so "not a string" cannot be said and what schemathesis calls wrong is often right.
# 400, 402 and 404 belong to the vendor's answers to requests that fit the schema and cannot be done.
CHECKS = {
    "negative_data_rejection": {"enabled": False},
    "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "402", "404"]},
}


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("generated")
    build_company(folder / "worlds")
    made = Inside(product, folder, CHECKS)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("noun", nouns(product))
def test_generated_requests_meet_only_what_is_documented(requests: Inside, noun: str) -> None:
    with requests.opened(noun) as episode:
        ids = _ids(episode.world)

        def aim(case: Case, _: GenerationMode, turn: int) -> None:
            if turn % 3:
                case.path_parameters = _aimed(case.path_parameters, ids, turn)
                case.body = _aimed(case.body, ids, turn)
            if case.media_type == "application/x-www-form-urlencoded" and isinstance(case.body, dict):
                case.body = urlencode(list(_brackets(case.body)))

        requests.meet(noun, EXAMPLES, aim)


@pytest.mark.slow
def test_there_were_thousands_of_them(requests: Inside) -> None:
    assert requests.served >= LEAST_CASES


def _ids(world: World) -> dict[str, list[str]]:
    return {
        prefix: [row[0] for row in world.rows(f"SELECT id FROM {table.name} LIMIT 5")]
        for prefix, table in BY_PREFIX.items()
    }


def _aimed(value: Any, ids: dict[str, list[str]], turn: int, name: str = "") -> Any:
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
