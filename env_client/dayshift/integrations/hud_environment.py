"""HUD: office work as an environment of the `hud` package.

    # office_env.py
    from dayshift.integrations.hud_environment import env

    # anywhere else
    tasks = build_tasks(dayshift.tasks("crm/correct-contact", seeds=range(100)))
    job = await Taskset("office", tasks).run(agent, runtime=SubprocessRuntime("office_env.py"))

The agent works through one MCP capability. An environment error is an error of `tasks.grade`: the run has no valid
grade, and HUD's trainer refuses it.
"""

import asyncio
import hmac
import secrets
import socket
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dayshift.episode import AsyncEpisode
from dayshift.errors import MissingExtra
from dayshift.integrations.sessions import ServerFull
from dayshift.job_description import first_message, system_prompt
from dayshift.open_request import open_request
from dayshift.patient_opening import open_when_ready
from dayshift.tool_surface import DEFAULT_SURFACE
from dayshift.version import VERSION
from dayshift.wire import OpenRequest, Split, Verdict

try:
    import uvicorn
    from hud import Environment
    from hud.capabilities import Capability
    from hud.eval import Task
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtra("hud", "hud") from error

from dayshift.integrations.mcp_relay import McpRelay

NAME = "dayshift"
TEMPLATE = "office_work"
CAPABILITY = "office"
LEASE_SECONDS = 900.0


class EpisodeGateway:
    """The MCP endpoint of one environment, before the one episode that it plays.

    HUD publishes capabilities before a task starts, and a connection to one does not say which task it belongs to. So
    an environment plays one task at a time; HUD's runtimes start one for each rollout.
    """

    def __init__(self, lease_seconds: float = LEASE_SECONDS) -> None:
        self.token = secrets.token_hex(24)
        self._lease_seconds = lease_seconds
        self._lock = asyncio.Lock()
        self._episode: AsyncEpisode | None = None
        self._relay: McpRelay | None = None
        self._used_at = 0.0

    async def start(self) -> str:
        """Listens on a free port of the loopback address, and returns the URL."""
        app = Starlette(routes=[Route("/mcp", self._answer, methods=["GET", "POST", "DELETE"])])
        place = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[place]))
        while not self._server.started and not self._serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        if self._serving.done():
            await self._serving
        return f"http://127.0.0.1:{place.getsockname()[1]}/mcp"

    async def stop(self) -> None:
        self._server.should_exit = True
        await self._serving
        async with self._lock:
            await self._release()

    async def open(self, request: OpenRequest, surface: str) -> AsyncEpisode:
        """Opens the episode of a task; what nobody has used for a lease makes room for it."""
        async with self._lock:
            if self._episode is not None:
                if _now() - self._used_at < self._lease_seconds:
                    raise ServerFull(1, 1)
                await self._release()
            episode = await open_when_ready(request, surface=surface)
            try:
                self._relay = McpRelay(episode, surface)
            except BaseException:
                await episode.close()
                raise
            self._episode, self._used_at = episode, _now()
            return episode

    async def close(self, episode: AsyncEpisode) -> None:
        async with self._lock:
            if self._episode is episode:
                await self._release()

    async def _release(self) -> None:
        episode, relay = self._episode, self._relay
        self._episode = self._relay = None
        if relay is not None:
            await relay.close()
        if episode is not None:
            await episode.close()

    async def _answer(self, request: Request) -> Response:
        authorization = request.headers.get("authorization", "")
        if not hmac.compare_digest(authorization.encode(), f"Bearer {self.token}".encode()):
            raise HTTPException(401, "this endpoint needs the token of its capability")
        if self._relay is None:
            raise HTTPException(503, "no work has been started")
        self._used_at = _now()
        return await self._relay.pass_on(request)


class _Server(uvicorn.Server):
    """Leaves signals to HUD, whose process this is."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # one of its kinds
        return nullcontext()


def build_environment(name: str = NAME, *, lease_seconds: float = LEASE_SECONDS) -> Environment:
    """Builds an environment that plays one task at a time; a stack must run when a task starts."""
    environment = Environment(name, version=VERSION)
    gateway = EpisodeGateway(lease_seconds)

    @environment.initialize
    async def start_gateway() -> None:
        url = await gateway.start()
        capability = Capability.mcp(name=CAPABILITY, url=url, auth_token=gateway.token, transport="streamable-http")
        environment.add_capability(capability)

    @environment.shutdown
    async def stop_gateway() -> None:
        await gateway.stop()

    @environment.template(id=TEMPLATE, description="Office work in the systems of a software company.")
    async def office_work(
        task: str,
        seed: int = 0,
        split: Split = "train",
        world: str = "standard",
        faults: str = "none",
        surface: str = DEFAULT_SURFACE,
    ) -> AsyncGenerator[Any, Any]:
        request = open_request(task=task, seed=seed, split=split, world=world, faults=faults)
        episode = await gateway.open(request, surface)
        try:
            answer = yield f"{system_prompt()}\n\n{first_message(episode.brief, episode.clock)}"
            # Raises where the environment failed. To end without a grade would be graded 0.
            yield describe_grade(await episode.submit(answer or None))
        finally:
            await gateway.close(episode)

    return environment


def describe_grade(verdict: Verdict) -> dict[str, Any]:
    """The verdict as the answer to `tasks.grade`."""
    flags = [flag.tag for flag in verdict.flags]
    info = {"outcome": verdict.outcome, "steps": verdict.steps, "flags": flags}
    return {"score": verdict.reward, "content": verdict.because, "info": info}


def build_tasks(requests: Iterable[OpenRequest], *, surface: str = DEFAULT_SURFACE, name: str = NAME) -> list[Task]:
    """One task of HUD for each instance."""
    rows = [request.model_dump(exclude={"menu", "assisted"}) | {"surface": surface} for request in requests]
    return [Task(env=name, id=TEMPLATE, args=row, slug=_name_row(row)) for row in rows]


def _name_row(row: dict[str, Any]) -> str:
    return f"{str(row['task']).replace('/', '-')}-{row['split']}-{row['seed']}"


def _now() -> float:
    return asyncio.get_running_loop().time()


# What `hud` finds in a file that imports it.
env = build_environment()
