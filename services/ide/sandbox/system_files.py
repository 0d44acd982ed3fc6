"""The system files of sandboxes: one tree, built once per version of its content, and kept.

`python -m services.ide.sandbox.system_files` builds it before the first start does.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from services.ide.sandbox import host_programs, interpreters, system_settings, system_tree
from services.ide.sandbox.host_programs import HostProgram, MissingPrograms, describe, find_programs
from services.ide.sandbox.interpreters import NoInterpreter, find_interpreter
from services.ide.sandbox.system_settings import HOME
from services.ide.sandbox.system_tree import GUEST, SystemTree, build_guest, version_tools
from services.ide.sandbox.wheelhouse import digest_lists, is_complete
from services.kernel.config import SandboxSettings

__all__ = ["GUEST", "HOME", "TOOLBOX", "SystemFiles"]

TOOLBOX = "/usr/local/libexec/toolbox"
_DAY_SECONDS = 86_400
# On a disk where there is one: the kernel keeps in memory what is used, and only that.
_PLACES = ("/var/tmp", tempfile.gettempdir())  # noqa: S108 - checked for their owner


class SystemFiles:
    """Two folders: the root of every sandbox, and the toolbox with the guest that is mounted in it; both read-only."""

    def __init__(self, wheels: Path | None = None, layers: Path | None = None) -> None:
        """`wheels` is the wheelhouse, `built` a folder where an image keeps a root that it was built with."""
        self.python = python = find_interpreter()
        programs = find_programs()
        present = wheels if wheels is not None and is_complete(wheels, python) else None
        name = f"devbox-{self._version(programs, present)}"
        if layers is not None and _is_trusted(layers / name):
            self.root = layers / name
        else:
            self.root = _find_or_build(name, lambda new: SystemTree(new, python, programs, present).build())
        self.toolbox = _find_or_build(f"devbox-guest-{_digest_guest(python)}", lambda new: build_guest(new, python))

    def _version(self, programs: list[HostProgram], wheels: Path | None) -> str:
        """A digest of everything that is copied: another program or another line of ours makes another folder."""
        parts = [describe(path) for path in sorted({file for _, file in programs} | {Path(self.python)})]
        parts += [describe(Path("/", folder)) for folder in system_tree.DATA if Path("/", folder).exists()]
        parts += version_tools() if wheels is None else [digest_lists(self.python)]
        sources = (host_programs, interpreters, system_settings, system_tree)
        return _digest("\n".join(parts), [host_programs.LIST, *(Path(str(module.__file__)) for module in sources)])


def _digest_guest(python: str) -> str:
    return _digest(python, sorted(GUEST.glob("*.py")))


def _digest(text: str, files: Iterable[Path]) -> str:
    digest = hashlib.sha256(text.encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _find_or_build(name: str, build: Callable[[Path], None]) -> Path:
    base = next(Path(place) for place in _PLACES if os.access(place, os.W_OK))
    lasting = base / f"{name}-{os.geteuid()}"
    if _is_trusted(lasting):
        # Its date says when it was used last.
        os.utime(lasting)
        return lasting
    with _one_at_a_time(base):
        if _is_trusted(lasting):
            return lasting
        new = Path(tempfile.mkdtemp(prefix="devbox-", dir=base))
        try:
            new.chmod(0o755)
            build(new)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        placed = _move_into_place(new, lasting)
        _remove_old_versions(base, placed)
        return placed


@contextmanager
def _one_at_a_time(base: Path) -> Iterator[None]:
    """Of this user's processes: several services that start together would all build the same."""
    descriptor = os.open(base / f"devbox-{os.geteuid()}.lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _is_trusted(folder: Path) -> bool:
    """Whether it exists and nobody else can write to it: everybody may write to the folder above."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    is_ours = status.st_uid in (0, os.geteuid())
    return stat.S_ISDIR(status.st_mode) and is_ours and not status.st_mode & 0o022


def _move_into_place(new: Path, lasting: Path) -> Path:
    """Rename the new folder, unless another process was faster or somebody else's folder has that name."""
    with suppress(OSError):
        new.rename(lasting)
        return lasting
    if _is_trusted(lasting):
        shutil.rmtree(new, ignore_errors=True)
        return lasting
    return new


def _remove_old_versions(base: Path, newest: Path) -> None:
    """Those that no service was started with for a day: they take up room."""
    limit = newest.stat().st_mtime - _DAY_SECONDS
    for other in base.glob(f"devbox-*-{os.geteuid()}"):
        if _is_trusted(other) and other.stat().st_mtime < limit:
            shutil.rmtree(other, ignore_errors=True)


def main() -> None:
    """With a folder, for an image: the tree goes there, and its name is that of its version."""
    settings = SandboxSettings.from_environment()
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    try:
        files = SystemFiles(settings.wheels, settings.built)
    except (MissingPrograms, NoInterpreter, OSError) as error:
        sys.exit(f"the IDE will not start here: {error}")
    if into is not None:
        name = files.root.name.rpartition("-")[0]
        into.mkdir(parents=True, exist_ok=True)
        shutil.move(files.root, into / name)
        # For a build that copies the tree into an image of its own.
        (into / "current").symlink_to(name)


if __name__ == "__main__":
    main()
