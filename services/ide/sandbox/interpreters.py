"""The Python of sandboxes, which every sandbox sees at the path that it has on the machine."""

import os
from functools import lru_cache
from pathlib import Path
from subprocess import run

from services.interpreter import SUPPORTED

# The first that exists: machines that have several take the same one.
INTERPRETERS = tuple(f"/usr/{folder}/python{minor}" for minor in SUPPORTED for folder in ("bin", "local/bin"))
_PATHS = "import site, sysconfig; print(sysconfig.get_path('stdlib'), site.getsitepackages()[0], sep='\\n')"


class NoInterpreter(RuntimeError):
    """There is no supported Python where a sandbox can see it."""


def find_interpreter() -> str:
    for path in INTERPRETERS:
        if os.access(path, os.X_OK):
            return path
    raise NoInterpreter(f"a sandbox needs Python in /usr; none of {', '.join(INTERPRETERS)} exists")


@lru_cache
def library_folders(python: str) -> tuple[Path, Path]:
    """(standard library, installed packages)."""
    result = run([python, "-I", "-c", _PATHS], env={}, capture_output=True, text=True, check=True)  # noqa: S603
    library, packages = map(Path, result.stdout.split())
    return library, packages
