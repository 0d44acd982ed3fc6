"""Every number on the README's pages of claims is compared with its source."""

import re
from pathlib import Path

from fixtures.tasks.registry import families
from services.interpreter import SUPPORTED
from services.kernel import catalog
from services.kernel.app import create_api

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()
# Numbers of others' environments, and of commands, code and addresses, are not claims about Dayshift.
_NO_CLAIM = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|<[^>]*>|## Beside other environments.*?\n## ", re.DOTALL)


def words_to_numbers(count: int) -> str:
    return {4: "four", 5: "five", 6: "six"}[count]


def test_families_products_and_operations_are_those_of_the_code() -> None:
    splits = [family.splits for family in families().values()]
    trained = sum("train" in split for split in splits)
    operations = sum(
        len(methods)
        for product in catalog.products().values()
        for methods in create_api(product).openapi()["paths"].values()
    )

    assert (
        f"| {len(splits)} task families | {trained} to train on and {len(splits) - trained} that are held out" in README
    )
    assert f"| {operations} operations of {len(catalog.names())} products |" in README
    assert f"and {words_to_numbers(len(catalog.names()))} products." in README


def test_the_load_is_the_one_that_was_measured() -> None:
    claimed = re.search(r"\| (\d+) requests per second \| for ten minutes .*: (\d+) errors, (\d+) stale reads", README)
    row = next(
        line for line in PERFORMANCE.splitlines() if line.startswith("| all products and all families, 10 min, compose")
    )
    _, _, qps, _, _, errors, stale, *_ = [cell.strip() for cell in row.split("|")]

    assert claimed is not None
    assert (float(claimed[1]), claimed[2], claimed[3]) == (float(qps), errors, stale)
    assert "2 × AMD" in PERFORMANCE, "the README says two cores"
    assert "on two cores" in README


def test_the_versions_of_python_are_those_that_are_tested() -> None:
    named = f"{', '.join(SUPPORTED[:-1])} and {SUPPORTED[-1]}"

    assert f"on Python {named}," in README
    assert f"needs Python {named.replace(' and ', ' or ')} and make" in README


def test_the_number_of_measured_distributions_is_that_of_the_targets() -> None:
    claimed = re.search(r"measured against (\d+) distributions", README)
    documented = re.search(r"(\d+) of them are tested", (ROOT / "docs" / "data.md").read_text())

    assert claimed is not None
    assert documented is not None
    assert claimed[1] == documented[1]


def test_no_other_number_is_claimed() -> None:
    """Whoever adds a number adds its comparison here."""
    prose = _NO_CLAIM.sub(" ", README)
    numbers = set(re.findall(r"(?<![\w.§-])\d[\d,.]*(?![\w-])", prose))
    compared = {
        *("61", "55", "6", "641", "4", "200", "0", "122"),
        *SUPPORTED,
        # Of the comparison of the size that test_python_versions makes.
        "330",
        # What 200 requests/s and twenty seeds of `make load` and `make validate` are is in the Makefile.
        *("60", "20"),
    }
    of_tables = {str(port) for product in catalog.products().values() for port in (product.port, product.harness_port)}

    assert {number.rstrip(".,") for number in numbers} - compared - of_tables - {
        "8700",
        "8705",
        "8706",
        "1",
        "2",
        "3",
        "4",
    } == set()
