"""The whole house in one process and without a socket: control, products, and the client that plays in it."""

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import orjson
import uvloop
from dayshift.connection import Address, Connection
from dayshift.errors import Unreachable
from dayshift.flow import Incoming, Outgoing
from starlette.types import ASGIApp, Message, Scope

from services.control.app import create_api
from services.control.control import put_together
from services.control.door import ControlApp
from services.control.doors import Door, Refused
from services.kernel import catalog
from services.kernel.agent_door import Dropped
from services.kernel.config import Settings
from services.kernel.serve import Service

_CONTROL = "http://control"
_TOKEN = "token-of-this-process"  # noqa: S105 - nobody outside this process can reach it


class NearDoor(Door):
    """A product's door in the same process."""

    def __init__(self, url: str, token: str, app: ASGIApp) -> None:
        super().__init__(url, token)
        self._app = app
        self._near = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    async def _asked(self, method: str, path: str, body: bytes, timeout: float) -> Any:
        incoming = await served(self._app, Outgoing(method, self.url + path, self._near, body, timeout))
        said = orjson.loads(incoming.content) if incoming.content else None
        if incoming.status >= 400:
            raise Refused(incoming.status, str(said))
        return said


class Household(Connection):
    """A connection to a house of its own; as good as the real one, minus the sockets."""

    def __init__(self, var: Path, products: tuple[str, ...], world: str) -> None:
        super().__init__(Address(_CONTROL, _TOKEN))
        logging.getLogger("dayshift").setLevel(logging.ERROR)
        self._own = tempfile.TemporaryDirectory(prefix="household-")
        self._loop = uvloop.new_event_loop()
        settings = _settings(var, Path(self._own.name), products, world)
        found = {name: catalog.product(name) for name in products}
        self._services = {name: Service(product, settings) for name, product in found.items()}
        doors = {_door_url(name): service.door_app() for name, service in self._services.items()}
        self._apps: dict[str, ASGIApp] = {name: service.agent_app() for name, service in self._services.items()}
        self.control = put_together(settings, found, lambda url, token: NearDoor(url, token, doors[url]))
        self._apps["control"] = ControlApp(create_api(self.control), _TOKEN, self.control.telemetry)
        self._loop.run_until_complete(self._open())

    async def _open(self) -> None:
        for service in self._services.values():
            await service.product.started()
        await self.control.ledger.start()
        await self.control.replicas.look()

    def _send(self, outgoing: Outgoing) -> Incoming:
        app = self._apps[urlsplit(outgoing.url).hostname or ""]
        try:
            return self._loop.run_until_complete(served(app, outgoing))
        except Dropped:
            raise Unreachable(f"{outgoing.method} {outgoing.url} got no answer") from None

    def request(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> Incoming:
        """Any request at all, as somebody without our client would write it."""
        return self._send(Outgoing(method, url, headers or {}, content))

    def kept_diff(self, episode_id: str) -> dict[str, list[dict[str, Any]]]:
        """What the ledger has of an episode that is over."""
        kept = self._loop.run_until_complete(self.control.ledger.diff(episode_id))
        if kept is None:
            raise LookupError(f"no diff of episode {episode_id} was kept")
        return kept

    def close(self) -> None:
        self._loop.run_until_complete(self._leave())
        for service in self._services.values():
            service.episodes.worlds.close()
        self._loop.close()
        self._own.cleanup()
        super().close()

    async def _leave(self) -> None:
        await self.control.close()
        for service in self._services.values():
            await service.product.stopped()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def served(app: ASGIApp, outgoing: Outgoing) -> Incoming:
    status, headers, chunks = 0, {}, []

    async def receive() -> Message:
        return {"type": "http.request", "body": outgoing.content, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            chunks.append(message.get("body", b""))

    await app(_scope(outgoing), receive, send)
    return Incoming(status, headers, b"".join(chunks))


def _scope(outgoing: Outgoing) -> Scope:
    parts = urlsplit(outgoing.url)
    path = parts.path or "/"
    headers = {"host": parts.netloc, "content-length": str(len(outgoing.content)), **outgoing.headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": outgoing.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 0),
        "server": (parts.hostname, 80),
        "extensions": {},
    }


def _settings(var: Path, own: Path, products: tuple[str, ...], world: str) -> Settings:
    (own / "worlds").symlink_to((var / "worlds").resolve())
    addresses = {(name, "URL"): f"http://{name}" for name in products}
    addresses |= {(name, "DOOR_URL"): _door_url(name) for name in products}
    usual = Settings(var=own, control_token=_TOKEN, door_token=_TOKEN, worlds=(world,), log_level="error")
    return replace(usual, addresses=addresses, max_episodes=100_000)


def _door_url(product: str) -> str:
    return f"http://{product}-door"
