"""The wheelhouse: wheels that a sandbox installs from without a network.

`python -m services.ide.sandbox.wheelhouse` fetches them. Each list of `services/ide/wheels` is a file of pinned
versions with hashes; several lists may hold several versions of a package.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from services.ide.sandbox.interpreters import NoInterpreter, find_interpreter
from services.kernel.config import SandboxSettings

LISTS = Path(__file__).parents[1] / "wheels"
# What is installed in every sandbox; the other lists can be installed by whoever works there.
TOOLS = LISTS / "tools.txt"
_DIGEST = ".complete"
_ATTEMPTS = ("--retries", "2", "--timeout", "20")


class NotFetched(RuntimeError):
    """The package registry did not give the wheels."""


def digest_lists(python: str) -> str:
    """Names the content of a wheelhouse for an interpreter: other pins or another version make another one."""
    digest = hashlib.sha256(Path(python).name.encode())
    for path in _lists():
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def is_complete(folder: Path, python: str) -> bool:
    try:
        return (folder / _DIGEST).read_text() == digest_lists(python)
    except OSError:
        return False


def fetch(folder: Path, python: str) -> None:
    """Fetch every wheel of every list, through pip and wherever pip is configured to fetch from."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="wheels-", dir=folder.parent))
    try:
        new.chmod(0o755)
        for requirements in _lists():
            _download(new, requirements, python)
        (new / _DIGEST).write_text(digest_lists(python))
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _lists() -> list[Path]:
    return sorted(LISTS.glob("*.txt"))


def _download(folder: Path, requirements: Path, python: str) -> None:
    """Wheels alone, since a sandbox has no compiler, and without dependencies, since a list names all of them."""
    pip = _find_pip(python)
    choice = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(requirements), "-d", str(folder)]
    command = [*pip, "download", "-q", "--disable-pip-version-check", *_ATTEMPTS, *choice]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip, by our own list
    if result.returncode:
        raise NotFetched(f"{requirements.name}: {result.stderr.strip()[-600:]}")


def _find_pip(python: str) -> list[str]:
    """The environment's own, run for the sandbox's interpreter; that interpreter's own where there is no other."""
    for command in ([sys.executable, "-m", "pip", "--python", python], [python, "-m", "pip"]):
        if subprocess.run([*command, "--version"], capture_output=True, check=False).returncode == 0:  # noqa: S603
            return command
    raise NotFetched(f"neither {sys.executable} nor {python} has pip")


def main() -> None:
    settings = SandboxSettings.from_environment()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=settings.wheels, help="the folder of the wheels")
    folder: Path | None = parser.parse_args().into
    if folder is None:
        sys.stderr.write("DAYSHIFT_WHEELS=0: sandboxes will have no package index\n")
        return
    try:
        python = find_interpreter()
        if not is_complete(folder, python):
            sys.stderr.write(f"fetching the wheels that sandboxes install from, into {folder} …\n")
            fetch(folder, python)
    except (NotFetched, NoInterpreter, OSError) as error:
        sys.stderr.write(
            f"note: sandboxes will have no package index, neither pip, uv, mypy, hypothesis nor coverage: {error}\n"
            "      run `make wheels` again when the package registry can be reached, or set DAYSHIFT_WHEELS=0\n"
        )


if __name__ == "__main__":
    main()
