"""Sandboxes of containers, through the Docker SDK: for where an engine is there and namespaces are not."""

import asyncio
import base64
import socket
import struct
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any

import docker
from docker.errors import DockerException
from docker.models.containers import Container

from services.ide.sandbox.isolation import NoIsolation, guest_settings, guest_start
from services.ide.sandbox.limits import Limits
from services.ide.sandbox.sandbox import Sandbox, SandboxLost
from services.ide.sandbox.system_files import GUEST, HOME
from services.kernel.config import SandboxSettings

_START_SECONDS = 60.0
_USER = "1000:1000"
_PYTHON = "python3"
# The engine's frames on an attached stream: which stream, three empty bytes, how long.
_FRAME = struct.Struct(">BxxxL")
_STDOUT = 1
_TOOLBOX = "/run/toolbox"
_ARCHIVE = f"{_TOOLBOX}/guest.zip"
# The root is read-only and the image anybody's: the guest's programs come as the last argument.
_UNPACK = f"import base64, sys; open({_ARCHIVE!r}, 'wb').write(base64.b64decode(sys.argv.pop())); "
_GIT = {
    "init.defaultBranch": "main",
    "core.checkStat": "minimal",
    "core.trustctime": "false",
    "safe.directory": "*",
    "gc.auto": "0",
    "advice.detachedHead": "false",
}


class Containers:
    """Starts each sandbox as a container without capabilities, network or a writable root."""

    name = "docker"
    toolbox = _ARCHIVE

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._engine: Any = None
        self._connections: list[AttachedConnection] = []

    async def check(self) -> None:
        image = self._settings.image
        try:
            require_listener(self._settings)
            self._engine = await asyncio.to_thread(docker.from_env, environment=dict(self._settings.docker))
            await asyncio.to_thread(self._engine.images.get, image)
        except (OSError, DockerException) as error:
            await self.close()
            raise NoIsolation(f"no Docker engine with the image {image!r} answers: {error}") from error
        try:
            sandbox = await self.start(Limits())
        except (OSError, DockerException) as error:
            await self.close()
            raise NoIsolation(f"the engine cannot start a sandbox of {image!r}: {error}") from error
        sandbox.end()

    async def start(self, limits: Limits) -> Sandbox:
        sandbox = Sandbox()
        loop = asyncio.get_running_loop()
        container, stream = await asyncio.to_thread(self._start_container, limits)
        connection = AttachedConnection(container, stream, sandbox, loop.call_soon_threadsafe)
        self._connections.append(connection)
        sandbox.connect(connection)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.shield(sandbox.ready)
        except (SandboxLost, TimeoutError) as error:
            message = await asyncio.to_thread(container.logs, tail=5)
            raise OSError(message.decode(errors="replace") or str(error)) from error
        finally:
            if not sandbox.ready.done() or sandbox.end_reason is not None:
                sandbox.end()
        return sandbox

    async def close(self) -> None:
        for connection in self._connections:
            connection.end()
            await asyncio.to_thread(connection.join)
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    def _start_container(self, limits: Limits) -> tuple[Container, Any]:
        memory = {
            HOME: f"size={limits.home},uid=1000,gid=1000,mode=755,exec",
            "/tmp": f"size={limits.scratch},uid=1000,gid=1000,mode=755,exec",  # noqa: S108 - inside
            "/run/forge": "size=1m,uid=1000,gid=1000,mode=755",
            _TOOLBOX: "size=1m,uid=1000,gid=1000,mode=755",
        }
        start = _UNPACK + guest_start(_ARCHIVE)
        container = self._engine.containers.create(
            self._settings.image,
            entrypoint=[],
            command=[_PYTHON, "-I", "-S", "-c", start, _guest_settings(limits), "-", _pack_guest()],
            user=_USER,
            working_dir=HOME,
            environment={},
            hostname="devbox",
            stdin_open=True,
            network_disabled=True,
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=True,
            tmpfs=memory,
            shm_size=limits.shared,
            pids_limit=limits.processes,
            mem_limit=limits.memory,
            memswap_limit=limits.memory,
            runtime=self._settings.runtime,
            volumes=[],
            auto_remove=True,
        )
        stream = container.attach_socket(params={"stdin": 1, "stdout": 1, "stream": 1})
        container.start()
        return container, stream


class AttachedConnection:
    """Standard input and output of a container; a thread listens, since the SDK knows no event loop."""

    def __init__(self, container: Container, stream: Any, sandbox: Sandbox, call_soon: Callable[..., object]) -> None:
        self._container = container
        self._wrapper = stream
        # The SDK hands out a reader around the socket that can also be written to.
        self._stream = getattr(stream, "_sock", stream)
        self._sandbox = sandbox
        self._call_soon = call_soon
        self._is_ended = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._remover = threading.Thread(target=self._remove, daemon=True)
        self._listener.start()

    def write(self, content: bytes) -> None:
        try:
            self._stream.sendall(content)
        except OSError:
            self._sandbox.lose("the container ended")

    def end(self) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        self._remover.start()

    def join(self) -> None:
        """Returns when the container is gone and nobody listens to it any more."""
        self._remover.join(_START_SECONDS)
        self._listener.join(_START_SECONDS)

    def process_ids(self) -> list[int]:
        """None: the engine bounds memory by itself."""
        return []

    def _listen(self) -> None:
        with suppress(OSError, RuntimeError):
            while head := self._read_exactly(_FRAME.size):
                stream, length = _FRAME.unpack(head)
                content = self._read_exactly(length)
                if stream == _STDOUT:
                    self._call_soon(self._sandbox.receive, content)
        with suppress(RuntimeError):
            self._call_soon(self._sandbox.lose, "the container ended")

    def _read_exactly(self, count: int) -> bytes:
        chunks = []
        while count:
            chunk = self._stream.recv(count)
            if not chunk:
                return b""
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks)

    def _remove(self) -> None:
        with suppress(DockerException):
            self._container.remove(force=True)
        self._listener.join(_START_SECONDS)
        response: Any = getattr(self._wrapper, "_response", None)
        for end in (self._wrapper, response, self._stream):
            with suppress(OSError, ValueError):
                if end is not None:
                    end.close()


def require_listener(settings: SandboxSettings) -> None:
    """Raises OSError where no engine listens; the SDK would leave its socket open behind it."""
    host = settings.docker.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if host.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_START_SECONDS)
            probe.connect(host.removeprefix("unix://"))


def _guest_settings(limits: Limits) -> str:
    """The environment carries what /etc/gitconfig says in the other kind of sandbox."""
    pairs = {f"GIT_CONFIG_KEY_{index}": key for index, key in enumerate(_GIT)}
    pairs |= {f"GIT_CONFIG_VALUE_{index}": value for index, value in enumerate(_GIT.values())}
    ssh = f"{_PYTHON} -IS -c 'import sys; sys.path.insert(0, \"{_ARCHIVE}\"); import guest.ssh'"
    return guest_settings(limits, {**pairs, "GIT_CONFIG_COUNT": str(len(_GIT)), "GIT_SSH_COMMAND": ssh})


def _pack_guest() -> str:
    """The guest package as an archive that Python imports from."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(GUEST.glob("*.py")):
            archive.writestr(f"guest/{path.name}", path.read_bytes())
    return base64.b64encode(packed.getvalue()).decode()
