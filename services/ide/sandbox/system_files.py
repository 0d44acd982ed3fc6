"""System files that a sandbox sees: an /etc and a /usr/local of our own, with a programmer's tools."""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

HOME = "/home/dev"
TOOLBOX = "/usr/local/libexec/toolbox"
# The package that runs inside; it is copied into sandboxes.
GUEST = Path(__file__).parents[1] / "guest"
# Packages that are installed for the agent; everything else of the service's environment stays outside.
_TOOLS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "jedi", "parso", "ruff")
_LEFT_OUT = frozenset({"__pycache__", "django-stubs"})
_INTERPRETERS = ("/usr/bin/python3.11", "/usr/local/bin/python3.11")
_SCRIPTS = {
    "pytest": "#!{python}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n",
    "ssh": "#!{python} -IS\nimport sys\nsys.path.insert(0, '{toolbox}')\nimport guest.ssh\n",
}
_ETC = {
    "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\ndev:x:1000:1000:dev:{home}:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ndev:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost devbox\n",
    "hostname": "devbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "gitconfig": "[init]\n\tdefaultBranch = main\n[core]\n\tcheckStat = minimal\n\ttrustctime = false\n"
    "\tsshCommand = /usr/local/bin/ssh\n[safe]\n\tdirectory = *\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
    "[advice]\n\tdetachedHead = false\n[uploadpack]\n\tallowFilter = true\n",
}
_DAY_SECONDS = 86_400
_TEMPORARY = "/dev/shm"  # noqa: S108 - memory, where there is some


class NoInterpreter(RuntimeError):
    """There is no Python 3.11 where a sandbox can see it."""


class SystemFiles:
    """A folder that every sandbox mounts read-only; it is made once per version of its content, and kept."""

    def __init__(self) -> None:
        self.python = _interpreter()
        base = Path(_TEMPORARY) if Path(_TEMPORARY).is_dir() else Path(tempfile.gettempdir())
        lasting = base / f"devbox-{os.geteuid()}-{self._version()}"
        self.root = lasting
        if not _is_ours(lasting):
            self.root = Path(tempfile.mkdtemp(prefix="devbox-", dir=base))
            self.root.chmod(0o755)
            self._write_etc()
            self._write_local()
            self.root = _move_into_place(self.root, lasting)
            _remove_old_versions(base, self.root)

    @property
    def etc(self) -> Path:
        return self.root / "etc"

    @property
    def local(self) -> Path:
        return self.root / "local"

    def interpreter_mounts(self) -> list[tuple[str, str]]:
        """(path outside, path inside) of an interpreter in the host's /usr/local, which ours would hide."""
        if not self.python.startswith("/usr/local/"):
            return []
        mounts = [(self.python, self.python), ("/usr/local/lib/python3.11", "/usr/local/lib/python3.11")]
        mounts += [(str(path), str(path)) for path in Path("/usr/local/lib").glob("libpython3*.so*")]
        return [*mounts, (str(self._packages), "/usr/local/lib/python3.11/site-packages")]

    def _version(self) -> str:
        """A digest of everything that is copied: another tool or another line of ours makes another folder."""
        digest = hashlib.sha256(repr((self.python, _ETC, _SCRIPTS)).encode())
        for path in (Path(__file__), *sorted(GUEST.glob("*.py"))):
            digest.update(path.read_bytes())
        for tool in _TOOLS:
            with suppress(PackageNotFoundError):
                digest.update(f"{tool} {distribution(tool).version}".encode())
        return digest.hexdigest()[:16]

    @property
    def _packages(self) -> Path:
        return self.local / "lib" / "python3.11" / "dist-packages"

    def _write_etc(self) -> None:
        self.etc.mkdir()
        for name, text in _ETC.items():
            (self.etc / name).write_text(text.format(home=HOME))
        # Mount points: bubblewrap cannot make them in a folder that is read-only already.
        (self.etc / "alternatives").mkdir()
        (self.etc / "ld.so.cache").touch()

    def _write_local(self) -> None:
        bin_folder = self.local / "bin"
        bin_folder.mkdir(parents=True)
        for name, text in _SCRIPTS.items():
            script = bin_folder / name
            script.write_text(text.format(python=self.python, toolbox=TOOLBOX))
            script.chmod(0o755)
        for alias in ("python", "python3"):
            (bin_folder / alias).symlink_to(self.python)
        shutil.copytree(
            GUEST,
            self.root / "local" / "libexec" / "toolbox" / "guest",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for tool in _TOOLS:
            self._copy(tool)
        # Sandboxes see all this read-only: without compiled files every start would compile anew.
        command = [self.python, "-I", "-m", "compileall", "-q", "-j0", str(self.local)]
        subprocess.run(command, check=False, env={}, stdout=subprocess.DEVNULL)  # noqa: S603 - our own copy
        for _, inside in self.interpreter_mounts():
            _make_mount_point(self.local / Path(inside).relative_to("/usr/local"), folder="lib/python" in inside)

    def _copy(self, tool: str) -> None:
        """Copy a distribution's own files; a tool that is not installed here is not installed inside either."""
        try:
            files = distribution(tool).files or []
        except PackageNotFoundError:
            return
        for file in files:
            if _LEFT_OUT.intersection(file.parts):
                continue
            source = Path(str(file.locate()))
            target = self.local / "bin" / file.name if file.parts[0] == ".." else self._packages / file
            if source.is_file() and (file.parts[0] != ".." or file.name == "ruff"):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
                _copy_compiled(source, target)


def _is_ours(folder: Path) -> bool:
    """Whether it exists and nobody else can write to it: everybody may write to the folder above."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _move_into_place(new: Path, lasting: Path) -> Path:
    """Rename the new folder, unless another process was faster or somebody else's folder has that name."""
    with suppress(OSError):
        new.rename(lasting)
        return lasting
    if _is_ours(lasting):
        shutil.rmtree(new, ignore_errors=True)
        return lasting
    return new


def _remove_old_versions(base: Path, newest: Path) -> None:
    """Of those made a day before this one: nothing uses them any more, and they take up memory."""
    limit = newest.stat().st_mtime - _DAY_SECONDS
    for other in base.glob(f"devbox-{os.geteuid()}-*"):
        if _is_ours(other) and other.stat().st_mtime < limit:
            shutil.rmtree(other, ignore_errors=True)


def _copy_compiled(source: Path, target: Path) -> None:
    """A compiled file is valid for any source of the same date and size."""
    compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-311.pyc"
    if source.suffix == ".py" and compiled.exists():
        (target.parent / "__pycache__").mkdir(exist_ok=True)
        shutil.copy2(compiled, target.parent / "__pycache__" / compiled.name)


def _interpreter() -> str:
    for path in _INTERPRETERS:
        if Path(path).exists():
            return path
    raise NoInterpreter(f"a sandbox needs Python 3.11 in /usr; none of {', '.join(_INTERPRETERS)} exists")


def _make_mount_point(path: Path, *, folder: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    if folder:
        path.mkdir()
    else:
        path.touch()
