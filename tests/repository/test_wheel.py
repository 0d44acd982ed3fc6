"""The wheel of the services holds everything that they read, and runs without the repository."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from dayshift.version import VERSION

from tests.control.stack import free_base

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("services", "fixtures", "loadtests")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both wheels, built from a copy of the sources and unpacked into one folder as an installer does."""
    copy, built, unpacked = (tmp_path_factory.mktemp(name) for name in ("sources", "built", "unpacked"))
    for folder in (*PACKAGES, "env_client"):
        shutil.copytree(
            ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        )
    for name in (
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "SECURITY.md",
    ):
        shutil.copyfile(ROOT / name, copy / name)
    for source in (copy, copy / "env_client"):
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-index", "--no-build-isolation", "-w", str(built), str(source)]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for path in built.glob("*.whl"):
        zipfile.ZipFile(path).extractall(unpacked)
    return unpacked


def environment(wheel: Path) -> dict[str, str]:
    """The wheel comes before the editable install on the import path; data files are found beside their modules."""
    return {**os.environ, "PYTHONPATH": str(wheel), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="module")
def stack(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Builds the small world and starts every service but the IDE from the wheel; yields the port of control."""
    folder, base = tmp_path_factory.mktemp("var"), free_base()
    command = [sys.executable, "-P", "-m", "fixtures", "--var", ".", "build", "small"]
    subprocess.run(command, cwd=folder, env=environment(wheel), capture_output=True, check=True)
    settings = {"DAYSHIFT_VAR": ".", "DAYSHIFT_WITHOUT": "ide", "DAYSHIFT_PLAYGROUND_TOKEN": "playground"}
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-P", "-m", "services", "up", "--port-base", str(base)]
        process = subprocess.Popen(command, cwd=folder, env=environment(wheel) | settings, stdout=log, stderr=log)
        try:
            await_health(base, process, folder / "log")
            yield base
        finally:
            process.terminate()
            process.wait(30)


def await_health(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]


def test_the_wheel_holds_every_tracked_file_of_its_packages(wheel: Path) -> None:
    output = subprocess.run(["git", "ls-files", "--", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {name for name in output.stdout.splitlines() if (ROOT / name).exists()}
    packed = {str(path.relative_to(wheel)) for folder in PACKAGES for path in (wheel / folder).rglob("*")}

    assert len([name for name in tracked if name.endswith(".json")]) > 150
    assert tracked - packed == set()


def test_its_metadata_has_the_version_and_the_licence(wheel: Path) -> None:
    metadata = (wheel / f"dayshift_services-{VERSION}.dist-info" / "METADATA").read_text()

    assert f"\nVersion: {VERSION}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "Apache License" in (wheel / f"dayshift_services-{VERSION}.dist-info" / "licenses" / "LICENSE").read_text()


@pytest.mark.parametrize(
    ("offset", "path"),
    [(1, "/crm/v3/objects/contacts?limit=1"), (2, "/api/v2/tickets.json?per_page=1"), (3, "/v1/customers?limit=1")],
    ids=["crm", "desk", "billing"],
)
def test_a_product_serves_from_the_wheel_alone(stack: int, offset: int, path: str) -> None:
    answer = httpx.get(f"http://127.0.0.1:{stack + offset}{path}", headers={"Authorization": "Bearer playground"})

    assert answer.status_code == 200, answer.text
    assert len(answer.content) > 100


def test_the_modules_come_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    code = "import services.desk.tables, fixtures.build as build; print(services.desk.tables.__file__, build.__file__)"
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment(wheel), capture_output=True, text=True, check=True)

    assert all(path.startswith(str(wheel)) for path in done.stdout.split())
