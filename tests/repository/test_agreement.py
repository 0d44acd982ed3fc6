"""README, Makefile, compose.yaml, metadata and documents agree with each other and with the code."""

import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml
from dayshift.cli import VIEWER_PORT

from services.kernel import catalog
from services.kernel.config import MCP_PORT, Settings
from services.snippets import CONSOLE_PORT
from tests.conftest import SLOWEST_FIRST

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
# Files and folders that every product has.
PLAN = ("product.py", "routes", "schemas", "operations", "tables.py", "checks.py", "errors.py", "README.md")


def compose() -> dict[str, dict[str, object]]:
    services: dict[str, dict[str, object]] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    return services


def table_rows(heading: str, page: str = README) -> list[list[str]]:
    """The cells of the page's table whose header row starts so."""
    after = page.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in after.splitlines()[2:]]


def targets() -> dict[str, str]:
    return dict(re.findall(r"^([a-z-]+):.*?## (.+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("name", catalog.names())
def test_a_product_has_every_part_of_the_plan(name: str) -> None:
    folder = ROOT / "services" / name
    missing = [part for part in PLAN if not (folder / part).exists() and not (folder / f"{part}.py").exists()]

    assert not missing
    assert (ROOT / "tests" / name).is_dir()
    assert (ROOT / "docs" / f"{name}.md").exists()


def test_the_readme_lists_the_services_of_the_catalogue_with_their_ports() -> None:
    documented = {row[0].strip("`"): (row[2], row[3]) for row in table_rows("service")}
    expected = {name: (str(product.port), str(product.harness_port)) for name, product in catalog.products().items()}

    assert documented == {"control": ("–", "8700"), **expected, "mcp": ("8706", "–")}


def test_no_two_programs_have_the_same_port_by_default() -> None:
    """The viewer stands beside a whole stack, and so do the relays of compose's further replicas."""
    relays = re.search(r"DAYSHIFT_RELAY:-(\d+)-(\d+)", (ROOT / "compose.yaml").read_text())
    assert relays is not None
    taken = [
        Settings().control_port,
        CONSOLE_PORT,
        MCP_PORT,
        VIEWER_PORT,
        *(port for product in catalog.products().values() for port in (product.port, product.harness_port)),
        *range(int(relays[1]), int(relays[2]) + 1),
    ]

    assert [port for port, times in Counter(taken).items() if times > 1] == []
    assert f"http://127.0.0.1:{VIEWER_PORT}/" in (ROOT / "docs" / "review.md").read_text()


def test_compose_runs_control_the_console_every_product_and_their_stores() -> None:
    assert set(compose()) == {"control", "console", "mcp", "postgres", "redis", *catalog.names()}


def test_compose_publishes_only_on_loopback_and_never_a_harness_api() -> None:
    published = [str(port) for service in compose().values() for port in service.get("ports", [])]  # type: ignore[attr-defined]
    harness_ports = {str(product.harness_port) for product in catalog.products().values()}

    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert not any(port.rpartition(":")[2] in harness_ports for port in published)


def test_every_make_target_has_help_and_the_readme_names_real_ones() -> None:
    declared = set(re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    output = subprocess.run(["make", "-s", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    named = set(re.findall(r"`?make ([a-z-]+)`?", README))

    assert declared == set(targets())
    assert all(name in output for name in declared)
    assert named <= set(targets())
    assert {"help", "demo", "up", "test", "check", "load", "bench", "worlds", "compose-test", "clean"} <= set(targets())


def test_the_test_files_that_start_first_exist() -> None:
    assert [path for path in SLOWEST_FIRST if not (ROOT / path).is_file()] == []


def test_every_dependency_has_one_line_that_says_what_it_is_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in declared}
    explained = set(
        re.findall(r"^- `([a-z0-9-]+)`: .+\.$", (ROOT / "docs" / "dependencies.md").read_text(), flags=re.MULTILINE)
    )

    assert explained == names


def test_the_lock_has_hashes_and_no_index_address() -> None:
    for lock in ROOT.glob("requirements*.lock"):
        text = lock.read_text()
        pinned = re.findall(r"^[a-z0-9][^ ]*==", text, flags=re.MULTILINE)
        assert len(pinned) <= text.count("--hash=sha256:")
        assert not re.search(r"^--(extra-)?index-url", text, flags=re.MULTILINE)
        assert "://" not in text


# Read by pip itself, where a build uses an index of its own.
_OF_PIP = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST"}


def test_every_setting_of_the_docs_is_read_and_every_one_read_is_in_the_docs() -> None:
    sources = [path.read_text() for folder in ("services", "env_client") for path in (ROOT / folder).rglob("*.py")]
    read = {name for text in sources for name in re.findall(r'"((?:DAYSHIFT|OTEL)_[A-Z_]+)"', text)}
    read |= set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text())) - _OF_PIP
    documented = {name for row in table_rows("variable", SETTINGS) for name in re.findall(r"`(\w+)`", row[0])}
    # Addresses are read by pattern, and the page has one product stand for all.
    of_a_product = re.compile(r"DAYSHIFT_(CRM|DESK|BILLING|IDE)_(PORT|URL|HARNESS_URL)")

    assert {name for name in documented - read if not of_a_product.fullmatch(name)} == set()
    assert {name for name in read - documented if not of_a_product.fullmatch(name)} == set()


def test_links_between_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
