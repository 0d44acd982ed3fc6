"""`make demo`."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DAYSHIFT_")}
    process = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=_ROOT,
        env={**environment, "DAYSHIFT_VAR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.mark.slow
def test_the_demo_shows_three_policies_writes_its_page_and_leaves_nothing_running(tmp_path: Path) -> None:
    run(tmp_path, "fixtures", "--var", str(tmp_path), "build", "small")

    output = run(tmp_path, "services.demo", "--episodes", "1")

    standings = {
        line.split()[0]: line.split()[1:] for line in output.splitlines() if re.search(r" [+-]\d\.\d{3} ", line)
    }
    families = standings["oracle"][0]
    assert set(standings) == {"oracle", "choose_at_random", "do_nothing"}
    assert standings["oracle"][:4] == [families, families, families, "100.0%"]
    assert standings["oracle"][7] == "+1.000"
    assert standings["do_nothing"][7] == "+0.000"
    assert len(output.splitlines()) <= 40
    assert output.index("how it ended") < output.index("95 % interval")
    assert "environment failure rate 0.00%" in output
    assert (tmp_path / "demo" / "report.html").read_text().startswith("<!doctype html>")
    assert str(tmp_path / "demo" / "report.html") in output
    with socket.socket() as probe:
        port = int(re.findall(r"http://127\.0\.0\.1:(\d+)", output)[0])
        assert probe.connect_ex(("127.0.0.1", port)) != 0
