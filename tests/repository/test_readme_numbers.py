"""Every number on the README's pages of claims is compared with its source."""

import re
from functools import cache
from pathlib import Path

from fixtures.tasks.registry import families
from loadtests.__main__ import build_parser
from services.interpreter import SUPPORTED
from services.kernel import catalog
from services.kernel.app import create_api
from services.kernel.config import MCP_PORT, Settings
from services.snippets import CONSOLE_PORT
from tests.repository.test_python_versions import claimed_size

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()
# Numbers of others' environments, and of commands, code and addresses, are not claims about Dayshift.
_NO_CLAIM = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|<[^>]*>|## Beside other environments.*?\n## ", re.DOTALL)


MAKEFILE = (ROOT / "Makefile").read_text()


def words_to_numbers(count: int) -> str:
    return {4: "four", 5: "five", 6: "six"}[count]


def count_families() -> tuple[int, int, int]:
    """All, those with a training split, and those that are held out."""
    trained = sum("train" in family.splits for family in families().values())
    return len(families()), trained, len(families()) - trained


@cache
def count_operations() -> int:
    return sum(
        len(methods)
        for product in catalog.products().values()
        for methods in create_api(product).openapi()["paths"].values()
    )


def measured_load() -> tuple[str, str, str]:
    """Requests per second, errors and stale reads of the ten minutes on compose, as the page of measurements has them."""
    row = next(
        line for line in PERFORMANCE.splitlines() if line.startswith("| all products and all families, 10 min, compose")
    )
    _, _, qps, _, _, errors, stale, *_ = [cell.strip() for cell in row.split("|")]
    return f"{float(qps):g}", errors, stale


def load_defaults() -> tuple[int, int]:
    """Seconds and requests per second of `make load`."""
    assert re.search(r"^load:.*\n\t@\$\(BIN\)/python -m loadtests run --shape constant$", MAKEFILE, flags=re.MULTILINE)
    options = build_parser().parse_args(["run"])
    return int(options.seconds), int(options.qps)


def validated_seeds() -> int:
    found = re.search(r"-m services validate --seeds (\d+)$", MAKEFILE, flags=re.MULTILINE)
    assert found is not None
    return int(found[1])


def measured_distributions() -> int:
    documented = re.search(r"(\d+) of them are tested", (ROOT / "docs" / "data.md").read_text())
    assert documented is not None
    return int(documented[1])


def ports() -> set[int]:
    of_products = [(product.port, product.harness_port) for product in catalog.products().values()]
    return {Settings().control_port, CONSOLE_PORT, MCP_PORT, *(port for pair in of_products for port in pair)}


def test_families_products_and_operations_are_those_of_the_code() -> None:
    every, trained, held_out = count_families()

    assert f"| {every} task families | {trained} to train on and {held_out} that are held out" in README
    assert f"| {count_operations()} operations of {len(catalog.names())} products |" in README
    assert f"and {words_to_numbers(len(catalog.names()))} products." in README


def test_the_load_is_the_one_that_was_measured() -> None:
    claimed = re.search(r"\| (\d+) requests per second \| for ten minutes .*: (\d+) errors, (\d+) stale reads", README)

    assert claimed is not None
    assert claimed.groups() == measured_load()
    assert "2 × AMD" in PERFORMANCE, "the README says two cores"
    assert "on two cores" in README


def test_the_commands_do_what_the_table_says() -> None:
    seconds, qps = load_defaults()

    assert f"| {seconds} s at {qps} requests/s with consistency checks |" in README
    assert f"every task family at {validated_seeds()} seeds" in README
    assert f"with {qps} requests/s served beside it" in README


def test_the_versions_of_python_are_those_that_are_tested() -> None:
    named = f"{', '.join(SUPPORTED[:-1])} and {SUPPORTED[-1]}"

    assert f"| Python {named} |" in README
    assert f"needs Python {named.replace(' and ', ' or ')} and make" in README


def test_the_number_of_measured_distributions_is_that_of_the_targets() -> None:
    assert f"measured against {measured_distributions()} distributions" in README


def test_the_console_is_at_its_port() -> None:
    assert f"at port {CONSOLE_PORT} " in README


def test_no_other_number_is_claimed() -> None:
    """Whoever adds a number adds its comparison here."""
    prose = _NO_CLAIM.sub(" ", README)
    numbers = {number.rstrip(".,") for number in re.findall(r"(?<![\w.§-])\d[\d,.]*(?![\w-])", prose)}
    compared = {
        *map(str, count_families()),
        str(count_operations()),
        str(len(catalog.names())),
        *measured_load(),
        *map(str, load_defaults()),
        str(validated_seeds()),
        str(measured_distributions()),
        str(claimed_size()),
        *map(str, ports()),
        *SUPPORTED,
        # What validate promises of rewards: 1 for the oracle, 0 for doing nothing.
        *("0", "1"),
    }

    assert numbers - compared == set()
