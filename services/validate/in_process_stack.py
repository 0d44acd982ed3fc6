"""The whole stack in one process and without a socket: control, products, and the client that plays in it."""

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import uvloop
from dayshift import Episode
from dayshift.connection import Address, Connection
from dayshift.errors import Unreachable
from dayshift.http_flow import HttpRequest, HttpResponse
from dayshift.wire import OpenRequest
from starlette.types import ASGIApp, Message, Scope

from fixtures.tasks.family import Family
from services.control.app import create_api
from services.control.control import create_control
from services.control.harness_client import HarnessClient, read_answer
from services.control.middleware import ControlMiddleware
from services.control.task_setup import TaskSetup
from services.kernel import catalog
from services.kernel.agent_api import Dropped
from services.kernel.config import SandboxSettings, Settings
from services.kernel.harness_replies import ChangeReply
from services.kernel.serve import Service

_CONTROL = "http://control"
_TOKEN = "token-of-this-process"  # noqa: S105 - nobody outside this process can reach it


class InProcessHarnessClient(HarnessClient):
    """The harness API of a product in the same process, called without a socket."""

    def __init__(self, url: str, token: str, app: ASGIApp) -> None:
        super().__init__(url, token)
        self._app = app
        self._headers_sent = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    async def _call(
        self,
        method: str,
        path: str,
        body: bytes,
        timeout: float,
        *,
        is_repeatable: bool,  # noqa: ARG002 - without a connection nothing is ever sent again
    ) -> Any:
        response = await serve(self._app, HttpRequest(method, self.url + path, self._headers_sent, body, timeout))
        return read_answer(response.status, response.content)


class InProcessStack(Connection):
    """A connection to a stack of its own, which behaves like a real one without the sockets."""

    def __init__(self, var: Path, products: tuple[str, ...], world: str) -> None:
        super().__init__(Address(_CONTROL, _TOKEN))
        logging.getLogger("dayshift").setLevel(logging.ERROR)
        self._own = tempfile.TemporaryDirectory(prefix="dayshift-stack-")
        self._loop = uvloop.new_event_loop()
        settings = _settings(var, Path(self._own.name), products, world)
        own_products = {name: catalog.product(name) for name in products}
        self._services = {name: Service(product, settings) for name, product in own_products.items()}
        harness_apps = {_harness_url(name): service.harness_app() for name, service in self._services.items()}
        self._apps: dict[str, ASGIApp] = {name: service.agent_app() for name, service in self._services.items()}
        self.control = create_control(
            settings, own_products, lambda url, token: InProcessHarnessClient(url, token, harness_apps[url])
        )
        self._apps["control"] = ControlMiddleware(create_api(self.control), _TOKEN, self.control.telemetry)
        self._loop.run_until_complete(self._open())

    async def _open(self) -> None:
        for service in self._services.values():
            await service.product.on_start(service.settings)
        await self.control.ledger.start()
        await self.control.replicas.check_all()

    def _send(self, outgoing: HttpRequest) -> HttpResponse:
        app = self._apps[urlsplit(outgoing.url).hostname or ""]
        try:
            return self._loop.run_until_complete(serve(app, outgoing))
        except Dropped:
            raise Unreachable(f"{outgoing.method} {outgoing.url} got no answer") from None

    def request(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> HttpResponse:
        """Any request at all, as somebody without our client would write it."""
        return self._send(HttpRequest(method, url, headers or {}, content))

    def read_diff(self, episode_id: str) -> dict[str, list[ChangeReply]]:
        """What the ledger has of an episode that is over."""
        diff = self._loop.run_until_complete(self.control.ledger.diff(episode_id))
        if diff is None:
            raise LookupError(f"no diff of episode {episode_id} was kept")
        return diff

    def lift_budget(self, episode: Episode) -> None:
        """Let an episode take as many steps as it likes: what many agents read together, one reader reads here."""
        episode.protocol.opened = episode.protocol.opened.model_copy(update={"budget": None})
        for service in self._services.values():
            for own in service.episodes:
                if own.id == episode.id:
                    own.opening = replace(own.opening, steps=None)

    def build_setup(self, family: Family[Any], request: OpenRequest) -> TaskSetup:
        """Return the setup that all episodes of this task share."""
        return self._loop.run_until_complete(self.control.task_builder.build(family, request))

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
            await service.product.on_stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def serve(app: ASGIApp, outgoing: HttpRequest) -> HttpResponse:
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
    return HttpResponse(status, headers, b"".join(chunks))


def _scope(outgoing: HttpRequest) -> Scope:
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
    addresses |= {(name, "HARNESS_URL"): _harness_url(name) for name in products}
    # A workspace has the packages and Node that this machine's workspaces have.
    usual = Settings(
        var=own,
        control_token=_TOKEN,
        harness_token=_TOKEN,
        worlds=(world,),
        log_level="error",
        sandbox=SandboxSettings.from_environment(),
    )
    return replace(usual, addresses=addresses, max_episodes=100_000)


def _harness_url(product: str) -> str:
    return f"http://{product}-harness"
