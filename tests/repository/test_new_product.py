"""docs/writing-a-product.md lists every place that a new product changes, and nothing else."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from services.kernel import catalog
from services.kernel.judging import Judging
from services.kernel.product import Product

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "writing-a-product.md").read_text()
# Prose, and what belongs to a product or to tasks that span products by design.
SKIPPED = ("docs/", "CHANGELOG.md", "fixtures/tasks/", "tests/office/", "tests/exploits/")
# Files that name all products today and need no change for another: the test says why.
UNCHANGED = {
    "tests/client/test_surfaces.py": "it finds some operations by words, and takes the products from the catalogue",
    "tests/control/test_verdicts.py": "its rows are those of the products that it takes examples from",
    "tests/control/test_families.py": "it tries the families whose products need no sandbox",
    "tests/examples/test_examples.py": "it runs the examples that there are",
    "tests/repository/test_wheel.py": "it reads one row of each product that needs no sandbox",
    "tests/viewer/make_recordings.py": "it plays some families, and takes the products from the catalogue",
    "tests/viewer/test_pages.py": "it shows those episodes",
    "tests/viewer/samples.py": "it makes the kinds of answers and lanes that those episodes lack",
    "tests/planting/kinds.py": "a table needs a row there once families plant enough of its rows, and a test says so",
    "tests/planting/test_ids.py": "it opens every family, and names products only where ids are of a form of their own",
    "tests/planting/test_recognition.py": "the same as for the kinds",
    "tests/repository/test_types.py": "one misspelt column of each kind of table is enough",
}


def rows_of(heading: str) -> list[str]:
    section = PAGE.split(heading, 1)[1].split("\n\n", 2)[1]
    return re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)


def tracked_texts() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in sorted(set(listed.stdout.split())):
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".yaml", ".yml", ""} and path.is_file():
            yield name, path.read_text(errors="replace")


def names_all_products(text: str) -> bool:
    return all(re.search(rf"(?<!\w){name}(?!\w)", text) for name in catalog.all_names())


def test_the_page_lists_every_file_that_names_all_products() -> None:
    own = tuple(f"{folder}/{name}/" for folder in ("services", "tests") for name in catalog.all_names())
    naming = {
        name for name, text in tracked_texts() if not name.startswith((*SKIPPED, *own)) and names_all_products(text)
    }

    assert naming - UNCHANGED.keys() == set(rows_of("These files name every product"))


@pytest.mark.parametrize("product", catalog.all_names())
def test_every_product_brings_the_files_that_the_page_names(product: str) -> None:
    patterns = rows_of("A new product brings these files")

    assert patterns
    assert [path for path in patterns if not (ROOT / path.replace("<product>", product)).exists()] == []


@pytest.mark.parametrize(("heading", "declaration"), [("## The declaration", Product), ("## Judging", Judging)])
def test_the_tables_of_fields_list_exactly_the_fields_that_exist(
    heading: str, declaration: type[Product] | type[Judging]
) -> None:
    section = PAGE.split(heading, 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\|[^|]*\|", section, flags=re.MULTILINE)))

    assert sorted(listed) == sorted(field.name for field in fields(declaration))
