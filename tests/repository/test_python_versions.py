"""The services run on the Python versions that they declare, and refuse others in one clear sentence."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from services.interpreter import SUPPORTED, explain_unsupported

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ("3.11", "3.12", "3.13")
REFUSED = "3.10"
LOCKS = ("requirements-runtime.lock", "requirements.lock")
# One of a product whose programs run in the sandbox, which has an interpreter of its own.
PLAYED = ("crm/correct-contact", "ide/fix-boundary")
README = (ROOT / "README.md").read_text()
GUEST = """
import sys
sys.path.insert(0, sys.argv[1])
import guest
guest.require_interpreter()
from guest import files, minimal_stdlib
minimal_stdlib.forbid_inspection()
assert minimal_stdlib.loads(minimal_stdlib.dumps({"a": [1, 2.5, None, "\u00e9"]})) == {"a": [1, 2.5, None, "\u00e9"]}
print(files._load_sha256()(b"").hexdigest())
"""


def interpreter(minor: str) -> str:
    """Path of an interpreter of that version, on the path or beside the one that runs this suite."""
    siblings = sorted(Path(sys.base_prefix).parent.glob(f"{minor}.*/bin/python{minor}"))
    for candidate in (shutil.which(f"python{minor}"), *map(str, siblings)):
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


@pytest.mark.parametrize("version", ["3.10.13", "3.14.0", "4.0.0"])
def test_any_other_version_is_refused_by_name(version: str) -> None:
    refusal = explain_unsupported(version)

    assert refusal is not None
    assert f"cannot start on Python {version}" in refusal
    assert "tested on Python 3.11, 3.12, 3.13" in refusal


@pytest.mark.parametrize("module", ["services", "fixtures"])
def test_another_interpreter_gets_a_sentence_and_no_traceback(module: str) -> None:
    command = [interpreter(REFUSED), "-m", module]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert f"dayshift: cannot start on Python {REFUSED}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def worlds_here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Fingerprints of the small world as the interpreter of this suite builds it."""
    return build_small(sys.executable, tmp_path_factory.mktemp("here"))


def build_small(python: str, var: Path) -> dict[str, str]:
    subprocess.run([python, "-m", "fixtures", "--var", str(var), "build", "small"], cwd=ROOT, check=True)
    built = json.loads((var / "worlds" / "small.json").read_text())
    return {file["name"]: file["fingerprint"] for file in built["files"]}


@pytest.mark.parametrize("minor", SUPPORTED[1:])
def test_the_demo_runs_on_every_version_from_the_runtime_lock_and_the_worlds_are_the_same(
    minor: str, tmp_path: Path, worlds_here: dict[str, str]
) -> None:
    python = install_runtime(interpreter(minor), tmp_path / "venv")
    size = disk_use(tmp_path / "venv")
    built = build_small(python, tmp_path / "var")
    played = subprocess.run(
        [python, "-m", "services.demo", "--world", "small", "--episodes", "1", *(f"--task={task}" for task in PLAYED)],
        cwd=ROOT,
        env={**os.environ, "DAYSHIFT_VAR": str(tmp_path / "var")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert claimed_size() * 0.85 < size < claimed_size() * 1.05, (
        f"the README says {claimed_size()} MB, and it is {size:.0f}"
    )
    assert built == worlds_here
    assert played.returncode == 0, played.stdout + played.stderr
    assert len(played.stdout.splitlines()) <= 40
    assert re.search(r"^oracle +2 +2 +2 +100\.0%", played.stdout, flags=re.MULTILINE), played.stdout


def claimed_size() -> int:
    """Megabytes of disk that the README promises for the environment of `make demo`, as `du -sm` measures them."""
    claimed = re.search(r"takes about (\d+) MB of disk \(`du -sm .venv`\)", README)
    assert claimed is not None
    return int(claimed[1])


def disk_use(folder: Path) -> float:
    """Megabytes of the blocks that its files take, those with several names once."""
    blocks = {stat.st_ino: stat.st_blocks for path in folder.rglob("*") if (stat := path.lstat())}
    return sum(blocks.values()) * 512 / (1 << 20)


def install_runtime(python: str, venv: Path) -> str:
    """As `make demo` does."""
    uv = Path(sys.executable).with_name("uv")
    here = {**os.environ, "VIRTUAL_ENV": str(venv), "UV_LINK_MODE": "copy"}
    lock = str(ROOT / "requirements-runtime.lock")
    for arguments in (
        ["venv", "-q", "--seed", "--python", python, str(venv)],
        ["pip", "install", "-q", "--compile-bytecode", "--require-hashes", "-r", lock],
        ["pip", "install", "-q", "--no-deps", "-e", str(ROOT / "env_client")],
    ):
        subprocess.run([uv, *arguments], env=here, check=True)
    return str(venv / "bin" / "python")


@pytest.mark.parametrize("minor", SUPPORTED)
def test_the_private_modules_that_a_sandbox_needs_are_in_every_version(minor: str) -> None:
    command = [interpreter(minor), "-I", "-W", "error", "-c", GUEST, str(ROOT / "services" / "ide")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"


def test_locks_hold_for_every_version_and_agree() -> None:
    pins = {
        lock: dict(re.findall(r"^([a-z0-9_.-]+)==(\S+)", (ROOT / lock).read_text(), flags=re.MULTILINE))
        for lock in LOCKS
    }
    runtime, everything = pins.values()
    disagreeing = {name for name, version in runtime.items() if everything.get(name, version) != version}

    assert disagreeing == set(), "make lock"
    for lock in LOCKS:
        text = (ROOT / lock).read_text()
        assert "--universal" in text.splitlines()[1]
        assert "://" not in text


@pytest.mark.parametrize("minor", CLIENT[1:])
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

    assert services["requires-python"] == ">=3.11,<3.14"
    assert named == {"services": list(SUPPORTED), "client": list(CLIENT)}
