"""The machine's programs that sandboxes have, and the libraries that they need."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("programs.toml")
# Where a machine keeps its own programs; what an administrator added elsewhere is another one on every machine.
_FOLDERS = "/usr/bin:/bin:/usr/sbin:/sbin"
_BATCH = 200


class MissingPrograms(RuntimeError):
    """Some programs that sandboxes have are not installed on this machine."""


class HostProgram(NamedTuple):
    """A program by its name, and the file behind its links."""

    name: str
    file: Path


def find_programs() -> list[HostProgram]:
    """Raises MissingPrograms, with what to install."""
    programs, missing = [], {}
    for package, entry in tomllib.loads(LIST.read_text()).items():
        for name in entry["programs"]:
            path = shutil.which(name, path=_FOLDERS)
            if path is None:
                missing[name] = package
            else:
                programs.append(HostProgram(name, Path(path).resolve()))
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        raise MissingPrograms(f"{', '.join(missing)} not installed: apt-get install {packages}")
    return programs


def list_libraries(files: Iterable[Path]) -> dict[str, Path]:
    """The libraries that some programs and libraries are linked with: the name they are looked up by, and the file."""
    libraries: dict[str, Path] = {}
    executables = [str(path) for path in files if _is_elf(path)]
    for start in range(0, len(executables), _BATCH):
        # ldd runs the system's own loader on the system's own files.
        command = ["ldd", *executables[start : start + _BATCH]]
        result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - as above
        for line in result.stdout.splitlines():
            name, _, place = line.strip().partition(" => ")
            path = (place or name).partition(" (")[0]
            if path.startswith("/") and not path.endswith(":"):
                libraries[name.partition(" (")[0]] = Path(path)
    return libraries


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def describe(path: Path) -> str:
    """Changes when the file does; by whole seconds, since archives of images keep no more."""
    status = os.stat(path)  # noqa: PTH116 - hundreds of times at start
    return f"{path} {status.st_size} {int(status.st_mtime)}"
