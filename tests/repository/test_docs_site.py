"""The documentation site builds without a warning, loads nothing from elsewhere, and quotes the code as it is."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from services.kernel import catalog
from tests.viewer.conftest import browser, open_page, problems

__all__ = ["browser", "open_page", "problems"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="(https?:[^"]+)|<link[^>]*rel="?stylesheet[^>]*href="(https?:[^"]+)'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: a link or an anchor that leads nowhere, or a page outside the navigation, ends the build.

    Without `-q`, which drops warnings before they are counted.
    """
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-d", str(folder)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DAYSHIFT_WITHOUT": ""}
    built = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))

    assert len(pages) > 20
    assert [hit for page in pages for hit in LOADED.findall(page.read_text())] == []


def test_every_link_between_pages_leads_to_a_page_and_a_heading() -> None:
    """As they are read in the repository; the build of the site checks those that it makes itself."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "env_client" / "README.md", *DOCS.rglob("*.md")]
    pages += (ROOT / "services").glob("*/README.md")
    text = {page: re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL) for page in pages}
    headings = {page: set(map(_slug, re.findall(r"^#+ (.+)$", text[page], flags=re.MULTILINE))) for page in pages}
    wrong = []
    for page in pages:
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text[page]):
            file, _, anchor = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (anchor and anchor not in headings.get(target, {anchor})):
                wrong.append(f"{page.relative_to(ROOT)}: {link}")

    assert sum(map(len, headings.values())) > 300
    assert wrong == []


def _slug(heading: str) -> str:
    words = re.sub(r"[^\w\s-]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading))
    return re.sub(r"\s+", "-", words.strip().lower())


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

    inline = re.compile(r"`python3? -m (?:services|fixtures|loadtests)[^`]*`")

    assert len(blocks) > 60
    assert [(name, line) for name, block in blocks for line in bare.findall(block)] == []
    documented = [page for page in DOCS.rglob("*.md") if "decisions" not in page.parts]
    assert [(page.name, line) for page in documented for line in inline.findall(page.read_text())] == []


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
    # Keys are what the page listens to: a value that is only set may be there too late to be read.
    page.locator(".md-search__input").press_sequentially("wilson interval")
    result = page.locator(".md-search-result__item a").first
    expect(result).to_be_visible()
    result.click()

    # A page that is still being read has its first lines alone.
    expect(page.locator("article")).to_contain_text("Wilson")
    assert page.url.startswith(site.as_uri())


def test_the_references_are_written_from_the_code(site: Path) -> None:
    assert "dayshift run" in (site / "reference" / "command-line.html").read_text()
    assert "group_rollouts" in (site / "reference" / "client-api.html").read_text()
    assert "OpenRequest" in (site / "reference" / "wire.html").read_text()


def test_the_client_is_installed_from_the_clone_and_with_extras_that_it_has() -> None:
    """It is on no index: `pip install 'dayshift[…]'` would find nothing, or somebody else's package."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.*")]
    text = "\n".join(page.read_text() for page in pages if page.suffix in (".md", ".py", ".toml"))
    extras = set(
        tomllib.loads((ROOT / "env_client" / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )
    named = {extra for found in re.findall(r"/env_client\[([a-z0-9,-]+)\]", text) for extra in found.split(",")}
    listed = re.findall(r"^\| ((?:`[a-z0-9-]+`(?:, )?)+) \|", (DOCS / "client.md").read_text(), flags=re.MULTILINE)

    assert re.findall(r"pip install '?dayshift\b.*", text) == []
    assert len(named) > 8
    assert named <= extras
    assert extras <= set(re.findall(r"`([a-z0-9-]+)`", " ".join(listed)))
