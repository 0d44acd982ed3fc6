"""One container per workspace, through the Docker SDK: for where an engine is there and namespaces are not."""

import asyncio
import base64
import os
import socket
import struct
import threading
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import docker
from docker.errors import DockerException
from docker.models.containers import Container

from services.ide.limits import Limits
from services.ide.runner import NoIsolation, guest_settings
from services.ide.sandbox import Sandbox, SandboxLost
from services.ide.system import HOME

_DEFAULT_IMAGE = "dayshift"
_START_SECONDS = 60.0
_USER = "1000:1000"
# The engine's frames on an attached stream: which stream, three empty bytes, how long.
_FRAME = struct.Struct(">BxxxL")
_STDOUT = 1
_TOOLBOX = "/run/toolbox"
# The root is read-only and the image anybody's: the guest brings its own programs, as its second argument.
_BOOT = (
    "import base64, sys; at = sys.argv.pop(); open(at, 'wb').write(base64.b64decode(sys.argv.pop())); "
    "sys.path.insert(0, at); from inside.guest import main; main()"
)
_GIT = {
    "init.defaultBranch": "main",
    "core.checkStat": "minimal",
    "core.trustctime": "false",
    "safe.directory": "*",
    "gc.auto": "0",
    "advice.detachedHead": "false",
}


class Containers:
    """Each sandbox a container without capabilities, network or a writable root."""

    name = "docker"
    toolbox = f"{_TOOLBOX}/inside.zip"

    def __init__(self, image: str, runtime: str | None, python: str = "python3") -> None:
        self._image = image
        self._runtime = runtime
        self._python = python
        self._engine: Any = None
        self._leaving: list[AttachedWire] = []

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Containers":
        image = environment.get("DAYSHIFT_SANDBOX_IMAGE", _DEFAULT_IMAGE)
        return cls(image, environment.get("DAYSHIFT_SANDBOX_RUNTIME") or None)

    async def check(self) -> None:
        try:
            _knock(os.environ)
            self._engine = await asyncio.to_thread(docker.from_env)
            await asyncio.to_thread(self._engine.images.get, self._image)
        except (OSError, DockerException) as error:
            await self.close()
            raise NoIsolation(f"no Docker engine with the image {self._image!r} answers: {error}") from error
        try:
            sandbox = await self.start(Limits())
        except (OSError, DockerException) as error:
            await self.close()
            raise NoIsolation(f"the engine cannot start a sandbox of {self._image!r}: {error}") from error
        sandbox.end()

    async def start(self, limits: Limits) -> Sandbox:
        sandbox = Sandbox()
        loop = asyncio.get_running_loop()
        container, stream = await asyncio.to_thread(self._begin, limits)
        wire = AttachedWire(container, stream, sandbox, loop.call_soon_threadsafe)
        self._leaving.append(wire)
        sandbox.connected(wire)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.shield(sandbox.ready)
        except (SandboxLost, TimeoutError) as error:
            said = await asyncio.to_thread(container.logs, tail=5)
            raise OSError(said.decode(errors="replace") or str(error)) from error
        finally:
            if not sandbox.ready.done() or sandbox.over is not None:
                sandbox.end()
        return sandbox

    async def close(self) -> None:
        for wire in self._leaving:
            wire.end()
            await asyncio.to_thread(wire.left)
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    def _begin(self, limits: Limits) -> tuple[Container, Any]:
        memory = {
            HOME: f"size={limits.home},uid=1000,gid=1000,mode=755,exec",
            "/tmp": f"size={limits.scratch},uid=1000,gid=1000,mode=755,exec",  # noqa: S108 - inside
            "/run/forge": "size=1m,uid=1000,gid=1000,mode=755",
            _TOOLBOX: "size=1m,uid=1000,gid=1000,mode=755",
        }
        container = self._engine.containers.create(
            self._image,
            entrypoint=[],
            command=[self._python, "-I", "-S", "-c", _BOOT, self._settings(limits), "-", _packed(), self.toolbox],
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
            runtime=self._runtime,
            volumes=[],
            auto_remove=True,
        )
        return container, self._attached(container)

    def _settings(self, limits: Limits) -> str:
        """What /etc/gitconfig says elsewhere comes in the environment here."""
        pairs = {f"GIT_CONFIG_KEY_{at}": key for at, key in enumerate(_GIT)}
        pairs |= {f"GIT_CONFIG_VALUE_{at}": value for at, value in enumerate(_GIT.values())}
        dial = f"{self._python} -IS -c 'import sys; sys.path.insert(0, \"{self.toolbox}\"); import inside.dial'"
        return guest_settings(limits, {**pairs, "GIT_CONFIG_COUNT": str(len(_GIT)), "GIT_SSH_COMMAND": dial})

    def _attached(self, container: Container) -> Any:
        stream = container.attach_socket(params={"stdin": 1, "stdout": 1, "stream": 1})
        container.start()
        return stream


class AttachedWire:
    """Standard input and output of a container; a thread listens, since the SDK knows no event loop."""

    def __init__(self, container: Container, stream: Any, sandbox: Sandbox, soon: Callable[..., object]) -> None:
        self._container = container
        self._wrapper = stream
        # The SDK hands out a reader around the socket that can also be written to.
        self._stream = getattr(stream, "_sock", stream)
        self._sandbox = sandbox
        self._soon = soon
        self._ended = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._remover = threading.Thread(target=self._remove, daemon=True)
        self._listener.start()

    def write(self, content: bytes) -> None:
        try:
            self._stream.sendall(content)
        except OSError:
            self._sandbox.lost("the container ended")

    def end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._remover.start()

    def left(self) -> None:
        """Returns when the container is gone and nobody listens to it any more."""
        self._remover.join(_START_SECONDS)
        self._listener.join(_START_SECONDS)

    def processes(self) -> list[int]:
        """The engine bounds memory by itself."""
        return []

    def _listen(self) -> None:
        with suppress(OSError, RuntimeError):
            while head := self._exactly(_FRAME.size):
                which, length = _FRAME.unpack(head)
                content = self._exactly(length)
                if which == _STDOUT:
                    self._soon(self._sandbox.received, content)
        with suppress(RuntimeError):
            self._soon(self._sandbox.lost, "the container ended")

    def _exactly(self, count: int) -> bytes:
        chunks = []
        while count:
            received = self._stream.recv(count)
            if not received:
                return b""
            chunks.append(received)
            count -= len(received)
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


def _packed() -> str:
    """The programs of `inside` as an archive that Python imports from."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((Path(__file__).parent / "inside").glob("*.py")):
            archive.writestr(f"inside/{path.name}", path.read_bytes())
    return base64.b64encode(packed.getvalue()).decode()


def engine_answers() -> bool:
    """Whether there is an engine to speak of."""
    try:
        _knock(os.environ)
        engine = docker.from_env()
        answered = bool(engine.ping())
        engine.close()
    except (OSError, DockerException):
        return False
    return answered


def _knock(environment: Mapping[str, str]) -> None:
    """Raises OSError where nobody listens; the SDK would leave its socket open behind it."""
    host = environment.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if host.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(_START_SECONDS)
            door.connect(host.removeprefix("unix://"))
