"""Control judges by what products declare: no name, table, path or field of a product stands in its code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.control.tables import ledger
from services.kernel import catalog
from services.kernel.app import create_api

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    *sorted(path for path in (ROOT / "services" / "control").rglob("*.py") if "migrations" not in path.parts),
    ROOT / "fixtures" / "tasks" / "allowed.py",
    # Beside it, `sample_calls/` has a module per product.
    *sorted((ROOT / "services" / "validate").glob("*.py")),
]
VENDORS = ("hubspot", "zendesk", "stripe", "daytona", "github", "hs_", "createdate", "closedate")
# Control's own paths, and those of the harness API that it calls.
OWN_PATHS = "".join((ROOT / "services" / name).read_text() for name in ("kernel/harness_api.py", "control/app.py"))
# Columns of every kind of system, and names of the harness API's messages.
NEUTRAL = {
    "actor", "answer", "archived_at", "at", "because", "body", "clock_ms", "created_at", "deleted_at", "description",
    "event", "events", "id", "key", "method", "name", "path", "query", "request", "revision", "score", "split", "state",
    "status", "steps", "table", "tag", "task", "text", "title", "type", "updated_at", "user", "version", "world",
}  # fmt: skip


def find_product_words(source: str) -> set[str]:
    """String literals and names in the code that belong to a product; docstrings and comments may speak of one."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    literals = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    }
    modules = {name for node in ast.walk(tree) for name in _imported(node)}
    return {text for text in literals | modules if _belongs_to_product(text)}


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=str() as module):
            yield module
        case ast.Import(names=names):
            yield from (alias.name for alias in names)


def _belongs_to_product(text: str) -> bool:
    words = set(re.findall(r"[a-z]+", text))
    if words & set(catalog.all_names()) or any(vendor in text.casefold() for vendor in VENDORS):
        return True
    if text in TABLES or any(part in FIELDS for part in re.findall(r"\w+", text)):
        return True
    if text.startswith("body."):
        return True
    return text.startswith("/") and text not in OWN_PATHS and any(text.rstrip("/") in path for path in PATHS)


OWN_NAMES = {*ledger.tables, *(column.name for table in ledger.tables.values() for column in table.columns)}
TABLES = {table for name in catalog.all_names() for table in catalog.product(name).schema.tables.tables} - OWN_NAMES
COLUMNS = {
    column.name
    for name in catalog.all_names()
    for table in catalog.product(name).schema.tables.tables.values()
    for column in table.columns
}
FIELDS = {name for name in COLUMNS if "_" in name or name in ("properties", "metadata", "public")} - NEUTRAL - OWN_NAMES
PATHS = [
    re.sub(r"\{[^}]*\}", "{}", path)
    for name in catalog.all_names()
    for path in create_api(catalog.product(name)).openapi()["paths"]
    if path.count("/") > 1
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_product_is_named_in_the_code_of_the_judge_and_of_validation(path: Path) -> None:
    # Validation reads JSON Schemas, whose objects have `properties`.
    of_schemas = {"properties"} if "validate" in path.parts else set()

    assert find_product_words(path.read_text()) - of_schemas == set()


@pytest.mark.parametrize(
    "source",
    [
        '_READING = ("/search", "/batch/read")',
        '_TIMELINE = frozenset({"calls", "property_definitions"})',
        'DESK = "desk"',
        'path = f"/api/v2/requests/{ticket}"',
        'rating = step["path"].endswith("/satisfaction_rating")',
        'author = \'"author_id"\' in step["request"]',
        '_DATES = frozenset({"closedate", "hs_createdate"})',
        'values = row.get("properties")',
        '_STAGED = frozenset({"body.status"})',
        "from services.crm import tables",
    ],
)
def test_what_control_once_knew_would_be_found(source: str) -> None:
    assert find_product_words(source) != set()
