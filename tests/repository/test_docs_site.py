"""The documentation site builds without a warning, loads nothing from elsewhere, and quotes the code as it is."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from services.kernel import catalog
from tests.viewer.conftest import browser, open_page

__all__ = ["browser", "open_page"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="(https?:[^"]+)|<link[^>]*rel="?stylesheet[^>]*href="(https?:[^"]+)'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: a link or an anchor that leads nowhere, or a page outside the navigation, ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(folder)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DAYSHIFT_WITHOUT": ""}
    built = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))

    assert len(pages) > 20
    assert [hit for page in pages for hit in LOADED.findall(page.read_text())] == []


@pytest.mark.parametrize("name", catalog.all_names())
def test_every_operation_of_a_product_is_on_its_page(site: Path, name: str) -> None:
    page = (site / "api" / f"{name}.html").read_text()
    documented = set(re.findall(rf"`({name}\.\w+\.\w+)`", (ROOT / "services" / name / "README.md").read_text()))

    assert len(documented) > 20
    assert {operation for operation in documented if f"<code>{operation}</code>" not in page} == set()


@pytest.mark.parametrize("name", catalog.all_names())
def test_a_products_operations_are_listed_once(site: Path, name: str) -> None:
    """Its other pages name some of them where they explain something."""
    listed = set(re.findall(rf"\b{name}\.\w+\.\w+\b", (site / "api" / f"{name}.html").read_text()))
    about = (site / "products" / f"{name}.html").read_text()
    named = {operation for operation in listed if f"<code>{operation}</code>" in about.split('id="core-operations"')[0]}

    assert len(named) < len(listed) / 4


@pytest.mark.parametrize("page", ["writing-a-task.md", "writing-a-product.md"])
def test_a_quoted_block_stands_in_the_file_that_it_names(page: str) -> None:
    quoted = re.findall(r"```python\n# (\S+)\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)

    assert len(quoted) >= 4
    for path, block in quoted:
        assert block in (ROOT / path).read_text(), f"{path} no longer has\n{block}"


def test_every_message_that_the_faq_quotes_is_in_the_code() -> None:
    folders = ("services", "fixtures", "env_client", "tests/e2e")
    source = "".join(path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py"))
    quoted = re.findall(r"^> `(.+)`$", (DOCS / "faq.md").read_text(), flags=re.MULTILINE)
    pieces = [piece.strip() for message in quoted for piece in message.split("…")]

    assert len(quoted) > 25
    assert [piece for piece in pieces if len(piece) > 8 and piece not in source] == []


def test_programs_of_the_clone_are_started_with_its_own_interpreter() -> None:
    """A reader's environment has the client alone."""
    pages = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *DOCS.rglob("*.md")]
    bare = re.compile(r"^(?:\$ )?python3? -m (?:services|fixtures|loadtests)\b.*", re.MULTILINE)
    blocks = [
        (page.name, block)
        for page in pages
        for block in re.findall(r"^```\w*\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    ]

    assert len(blocks) > 60
    assert [(name, line) for name, block in blocks for line in bare.findall(block)] == []


def test_the_guide_to_reviews_names_every_tool_that_reads_recordings() -> None:
    """And the page of the viewer goes through ten trajectories, with pictures."""
    guide = (DOCS / "guides" / "review.md").read_text()

    for tool in ("report", "view", "review", "share", "verify"):
        assert f"dayshift {tool} runs/mine" in guide
    assert "(../console.md)" in guide
    viewer = (DOCS / "review.md").read_text()
    assert "(guides/review.md)" in viewer
    assert "## Ten trajectories in an hour" in viewer
    assert "(../review.md#ten-trajectories-in-an-hour)" in guide


def test_validates_promises_are_all_explained() -> None:
    """And nothing else is called one."""
    promises = "".join(
        (ROOT / "services" / "validate" / f"{name}.py").read_text() for name in ("promises", "run", "summary")
    )
    promised = set(re.findall(r'(?:PromiseResult|_equals|_costs_little|Tally)\(\s*"(\w+)"', promises))
    explained = set(re.findall(r"^\| `(\w+)` \|", (DOCS / "writing-a-task.md").read_text(), flags=re.MULTILINE))

    assert explained - {"plant"} == promised


def test_search_needs_no_server_and_nothing_from_elsewhere(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text()

    assert index.startswith("var __index = {")
    assert "Many episodes at once" in index
    assert '<script src="javascripts/iframe-worker.js">' in (site / "index.html").read_text()
    assert "location.protocol" in (site / "javascripts" / "iframe-worker.js").read_text()


def test_search_finds_a_page_that_was_opened_from_the_disk(site: Path, open_page: Callable[..., Page]) -> None:
    page = open_page((site / "index.html").as_uri(), ready=".md-search__input")
    page.locator(".md-search__input").fill("wilson interval")
    found = page.locator(".md-search-result__item a").first
    expect(found).to_be_visible()
    found.click()

    assert page.url.startswith(site.as_uri())
    assert "Wilson" in page.locator("article").inner_text()


def test_the_references_are_written_from_the_code(site: Path) -> None:
    assert "dayshift run" in (site / "reference" / "command-line.html").read_text()
    assert "group_rollouts" in (site / "reference" / "client-api.html").read_text()
    assert "OpenRequest" in (site / "reference" / "wire.html").read_text()
