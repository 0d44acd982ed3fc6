"""A workspace has the same tools on every machine, and installs packages without a network."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from services.ide.sandbox import host_programs
from services.ide.sandbox.bubblewrap import Bubblewrap
from services.ide.sandbox.isolation import NoIsolation
from services.ide.sandbox.wheelhouse import TOOLS
from tests.ide.service import Episode

PROJECT = """
[build-system]
requires = ["flit_core"]
build-backend = "flit_core.buildapi"
[project]
name = "ledgers"
version = "1.0"
description = "books"
[project.optional-dependencies]
test = ["pytest", "pytest-mock"]
"""
MAKE_PROJECT = (
    f"mkdir -p ~/ledgers && cd ~/ledgers && cat > pyproject.toml <<'END'\n{PROJECT}END\necho X = 1 > ledgers.py"
)


def run(episode: Episode, *lines: str) -> str:
    result = episode.execute(" && ".join(lines), timeout=110)
    output = result["stdout"] + result["stderr"]
    assert result["exit_code"] == 0, output
    return str(output)


def test_a_workspace_has_the_listed_programs_and_no_other_of_the_machine(episode: Episode) -> None:
    entries = tomllib.loads(host_programs.LIST.read_text()).values()
    listed = {name for entry in entries for name in entry["programs"]}

    present = set(run(episode, "ls /usr/bin").split())

    assert listed <= present
    files_behind_links = {program.file.name for program in host_programs.find_programs()}
    assert {re.sub(r"[\d.]+$", "", name) for name in present - listed - files_behind_links} == {"python"}
    assert all(entry["reason"] for entry in entries)


def test_a_workspace_has_the_listed_packages_and_no_other_of_the_machine(episode: Episode) -> None:
    lines = [line for line in TOOLS.read_text().splitlines() if "==" in line and "win32" not in line]
    pins = dict(line.split(" ")[0].split("==") for line in lines)

    installed = dict(line.split("==") for line in run(episode, "pip list --format=freeze").split())

    assert {name.replace("_", "-").lower(): version for name, version in installed.items()} == pins


def test_type_checker_properties_and_coverage_run_at_once(episode: Episode) -> None:
    run(
        episode,
        "cd /tmp",
        "printf 'from hypothesis import given, strategies as st\\n@given(st.integers())\\n"
        "def test_sum(n: int) -> None:\\n    assert n + 0 == n\\n' > test_it.py",
        "coverage run -m pytest -q test_it.py",
        "coverage report --fail-under=100",
    )
    wrong = episode.execute("cd /tmp && echo 'x: int = str(1)' > typed.py && mypy --no-incremental typed.py")

    assert 'variable has type "int"' in wrong["stdout"]


def test_pip_uv_and_venv_install_a_project_with_its_extras(episode: Episode) -> None:
    output = run(
        episode,
        MAKE_PROJECT,
        "uv venv -q .venv && uv pip install -q -e '.[test]'",
        ".venv/bin/python -c 'import ledgers, pytest_mock; print(ledgers.__file__)'",
        "python -m venv /tmp/env && /tmp/env/bin/python -c 'import pip'",
        "pip install -q -e '.[test]' && cd /tmp && python -c 'import ledgers, pytest_mock; print(ledgers.__file__)'",
    )
    missing = episode.execute("pip install no-such-package")

    assert output.split().count("/home/dev/ledgers/ledgers.py") == 2
    assert (missing["exit_code"], "No matching distribution" in missing["stderr"]) == (1, True)


def test_installed_packages_are_nobodys_change(episode: Episode) -> None:
    run(episode, "cd ~ && uv venv -q .venv && uv pip install -q iniconfig", "pip install -q pytest-mock")

    assert episode.diff()["changes"]["net"] == []


@pytest.mark.anyio
async def test_a_machine_without_a_listed_program_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorter = tmp_path / "programs.toml"
    shorter.write_text('[bash]\nprograms = ["bash"]\n[no-such-package]\nprograms = ["no-such-program"]\n')
    monkeypatch.setattr(host_programs, "LIST", shorter)

    with pytest.raises(NoIsolation, match="no-such-program not installed: apt-get install no-such-package"):
        await Bubblewrap().check()


def test_without_a_registry_the_wheels_are_left_out_with_a_note(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "services.ide.sandbox.wheelhouse"]
    # No index stands for a registry that cannot be reached, without waiting for it.
    env = {**os.environ, "PIP_NO_INDEX": "1", "DAYSHIFT_WHEELS": str(tmp_path / "wheels")}
    tried = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    left_out = subprocess.run(command, env={**env, "DAYSHIFT_WHEELS": "0"}, capture_output=True, text=True, check=True)

    assert "note: sandboxes will have no package index" in tried.stderr
    assert "run `make wheels` again" in tried.stderr
    assert list(tmp_path.iterdir()) == []
    assert "DAYSHIFT_WHEELS=0" in left_out.stderr


def test_node_runs_typescript_and_its_tests_without_a_network(episode: Episode) -> None:
    output = run(
        episode,
        "mkdir -p /tmp/service/tests && cd /tmp/service",
        """echo '{"type": "module", "scripts": {"test": "node --test tests/*.test.ts"}}' > package.json""",
        "echo 'export const double = (number: number): number => 2 * number;' > double.ts",
        """echo "import assert from 'node:assert'; import { test } from 'node:test'; import { double } from '../double.ts';"""
        """test('twice', () => assert.equal(double(2), 4));" > tests/double.test.ts""",
        "npm test",
        "node --version",
    )
    missing = episode.execute("cd /tmp/service && npm install left-pad")

    assert "pass 1" in output
    assert "v24." in output
    assert missing["exit_code"] == 1
    assert "ENOTCACHED" in missing["stderr"]
