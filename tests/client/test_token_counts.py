"""The tool lists in the tokens of a real tokenizer, whose files are in a package: `.ci/integrations tokens`."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from services.kernel import catalog
from tests.client.test_surfaces import Catalogue, by_product, office
from tests.judges import JUDGES

pytestmark = pytest.mark.integration
__all__ = ["by_product", "office"]
ROOT = Path(__file__).resolve().parents[2]
MOST_OF_SEARCH, MOST_OF_A_PRODUCT, MOST_OF_THE_OFFICE = 1_200, 8_000, 25_000
SURFACES = ("search", "core", "full")


@pytest.fixture(scope="module")
def counts(by_product: dict[str, Catalogue], office: Catalogue) -> dict[str, int]:
    """Tokens of `o200k_base`, by product and surface."""
    texts = {
        f"{name} {surface}": json.dumps(operations.surface(surface).openai_tools(), ensure_ascii=False)
        for name, operations in {**by_product, "office": office}.items()
        for surface in SURFACES
    }
    program = Path(__file__).parent / "judges" / "count_tokens.mjs"
    counted = subprocess.run(
        ["node", str(program), str(JUDGES / "tokenizer" / "package.json")],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(counted.stdout))


def test_the_bars_hold_in_real_tokens(counts: dict[str, int]) -> None:
    assert max(counts[f"{name} search"] for name in (*catalog.all_names(), "office")) <= MOST_OF_SEARCH
    assert max(counts[f"{product} core"] for product in catalog.all_names()) <= MOST_OF_A_PRODUCT
    assert counts["office core"] <= MOST_OF_THE_OFFICE


def test_the_documentation_has_these_numbers(
    counts: dict[str, int], by_product: dict[str, Catalogue], office: Catalogue
) -> None:
    """Within five in a hundred: a reworded description need not change the page."""
    rows = re.findall(r"^\| `?(\w+)`? \|(.+)\|$", (ROOT / "docs" / "client.md").read_text(), re.MULTILINE)
    documented = {
        name: [int(cell.replace(",", "")) for cell in re.findall(r"[\d,]+", cells)]
        for name, cells in rows
        if name in {*by_product, "office"}
    }
    actual = {
        name: [
            number
            for surface in SURFACES
            for number in (operations.surface(surface).tokens, counts[f"{name} {surface}"])
        ]
        for name, operations in {**by_product, "office": office}.items()
    }

    print(json.dumps(actual))
    assert documented.keys() == actual.keys()
    for name, numbers in actual.items():
        assert documented[name] == pytest.approx(numbers, rel=0.05)
