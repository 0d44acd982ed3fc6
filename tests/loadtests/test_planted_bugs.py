"""The checkers catch each planted bug within a few hundred requests, and say nothing where nothing is wrong."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from services.kernel import catalog
from tests.company import WORLD, small_company
from tests.control.stack import eventually, free_base

_ROOT = Path(__file__).resolve().parents[2]
_TOKEN = "control-token-of-this-test"


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_company(tmp_path_factory) / "worlds"


@contextmanager
def stack(var: Path, worlds: Path, bug: str | None) -> Iterator[str]:
    """Control, the products, and in the CRM's place one with this bug; yields control's address."""
    (var / "worlds").symlink_to(worlds)
    base = free_base()
    ports = {name: base + catalog.product(name).port - 8700 for name in ("billing", "crm")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DAYSHIFT_")} | {
        "DAYSHIFT_VAR": str(var),
        "DAYSHIFT_CONTROL_TOKEN": _TOKEN,
        "DAYSHIFT_CONTROL_PORT": str(base),
        **{f"DAYSHIFT_{name.upper()}_PORT": str(port) for name, port in ports.items()},
        "DAYSHIFT_LOG": "warning",
        "DAYSHIFT_WITHOUT": ",".join(name for name in catalog.names() if name not in ports),
    }
    products = [("services", name) for name in ports if name != "crm" or bug is None]
    broken = [] if bug is None else [("tests.loadtests.broken_product", bug)]
    commands = (*products, *broken, ("services", "control"))
    with (var / "log").open("w") as log:
        started = [
            subprocess.Popen([sys.executable, "-m", *command], cwd=_ROOT, env=environment, stdout=log, stderr=log)
            for command in commands
        ]
        url = f"http://127.0.0.1:{base}"
        try:
            eventually(lambda: _is_well(url), seconds=180, what=(var / "log").read_text)
            yield url
        finally:
            for one in reversed(started):
                one.terminate()
            for one in started:
                one.wait(60)


def _is_well(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.HTTPError:
        return False


def checked(url: str, token: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loadtests", "check", "--url", url, "--token", token, "--world", WORLD, *arguments]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("bug", ["stale_cache", "lost_update", "leak"])
def test_a_planted_bug_is_caught_within_a_few_hundred_requests(bug: str, tmp_path: Path, worlds: Path) -> None:
    with stack(tmp_path, worlds, bug) as url:
        found = checked(url, _TOKEN, "--seconds", "3", "--requests", "400")

    assert found.returncode == 1, found.stdout + found.stderr
    assert "CONTRADICTED" in found.stdout


@pytest.mark.slow
def test_a_load_user_alone_notices_an_answer_that_contradicts_what_it_wrote(tmp_path: Path, worlds: Path) -> None:
    with stack(tmp_path, worlds, "stale_cache") as url:
        command = [sys.executable, "-m", "loadtests", "run", "--url", url, "--token", _TOKEN, "--world", WORLD]
        arguments = [
            "--seconds",
            "4",
            "--qps",
            "150",
            "--users",
            "8",
            "--product",
            "crm",
            "--reports",
            str(tmp_path / "reports"),
        ]
        found = subprocess.run(
            [*command, *arguments], cwd=_ROOT, capture_output=True, text=True, timeout=240, check=False
        )

    assert found.returncode == 1, found.stdout + found.stderr
    assert re.search(r"MISSED: \d+ stale or wrong reads", found.stdout)


@pytest.mark.slow
def test_ten_clean_runs_raise_no_alarm(tmp_path: Path, worlds: Path) -> None:
    with stack(tmp_path, worlds, bug=None) as url:
        found = checked(url, _TOKEN, "--seconds", "1.5", "--runs", "10")

    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("one order explains all") == 10
