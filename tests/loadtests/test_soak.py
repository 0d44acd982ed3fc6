"""A short soak of the embedded stack: what `make soak` does for half an hour."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.company import WORLD, small_company

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_soak_meets_no_error_no_stale_read_and_leaves_nothing_behind(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    worlds = small_company(tmp_path_factory) / "worlds"
    reports = tmp_path / "reports"
    command = [sys.executable, "-m", "loadtests", "run", "--shape", "soak", "--seconds", "12", "--qps", "100"]
    where = ["--users", "10", "--episodes", "40", "--world", WORLD, "--worlds", str(worlds), "--reports", str(reports)]

    # Without the IDE, whose sandboxes a short run would mostly wait for.
    env = {**os.environ, "DAYSHIFT_WITHOUT": "ide"}
    done = subprocess.run(
        [*command, *where], cwd=_ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    kept = json.loads(next(reports.glob("*.json")).read_text())
    assert (kept["errors"], kept["stale_reads"], kept["episodes_left"]) == (0, 0, 0)
    assert kept["responses"]["count"] == kept["offered"] == pytest.approx(1200, abs=1)
    assert kept["episodes_at_once"] == 40
    assert kept["resources"]["memory_mb"] > 0
    page = next(reports.glob("*.html")).read_text()
    assert "<svg" in page
    assert "http" not in page.replace("HttpUser", "")
