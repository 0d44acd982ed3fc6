"""The services run on the Python versions that they declare, and refuse others in one clear sentence."""

import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from services.interpreter import SUPPORTED, explain_unsupported

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ("3.12", "3.13")
CLIENT = ("3.11", "3.12", "3.13")


def interpreter(minor: str) -> str:
    """Path of an interpreter of that version, on the path or beside the one that runs this suite."""
    beside = sorted(Path(sys.base_prefix).parent.glob(f"{minor}.*/bin/python{minor}"))
    for candidate in (shutil.which(f"python{minor}"), *map(str, beside)):
        if candidate is not None and runs(candidate, minor):
            return candidate
    pytest.skip(f"this machine has no Python {minor}")


def runs(path: str, minor: str) -> bool:
    """Whether there is an interpreter behind the name: the launcher of a version manager may have none."""
    command = [path, "-c", "import platform; print(platform.python_version())"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.startswith(f"{minor}.")


def project(folder: Path) -> dict[str, object]:
    declared: dict[str, object] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return declared


def test_this_suite_runs_on_a_supported_version() -> None:
    assert explain_unsupported(platform.python_version()) is None


@pytest.mark.parametrize("version", ["3.10.13", "3.12.1", "3.13.0", "4.0.0"])
def test_any_other_version_is_refused_by_name(version: str) -> None:
    refusal = explain_unsupported(version)

    assert refusal is not None
    assert f"cannot start on Python {version}" in refusal
    assert "run on Python 3.11" in refusal


@pytest.mark.parametrize("minor", OTHERS)
@pytest.mark.parametrize("module", ["services", "fixtures"])
def test_another_interpreter_gets_a_sentence_and_no_traceback(minor: str, module: str) -> None:
    command = [interpreter(minor), "-m", module]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert f"dayshift: cannot start on Python {minor}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("minor", OTHERS)
def test_the_clients_modules_compile_without_a_warning_on_every_version(minor: str, tmp_path: Path) -> None:
    command = [interpreter(minor), "-W", "error", "-m", "compileall", "-q", "-f", str(ROOT / "env_client" / "dayshift")]
    done = subprocess.run(
        command, env={"PYTHONPYCACHEPREFIX": str(tmp_path)}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_metadata_says_the_same() -> None:
    services, client = project(ROOT), project(ROOT / "env_client")
    named = {
        name: [
            text.rsplit(" ", 1)[1] for text in classifiers if text.startswith("Programming Language :: Python :: 3.")
        ]
        for name, classifiers in (("services", services["classifiers"]), ("client", client["classifiers"]))
        if isinstance(classifiers, list)
    }

    assert services["requires-python"] == ">=3.11,<3.12"
    assert named == {"services": list(SUPPORTED), "client": list(CLIENT)}
