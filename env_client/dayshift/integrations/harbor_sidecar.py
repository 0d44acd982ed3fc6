"""The sidecar of a Harbor task: a stack, one open episode, and a gateway between the agent and its MCP endpoint.

HARBOR_OPEN_REQUEST holds the request that opens the episode, HARBOR_VERIFIER_TOKEN what the verifier sends.
The agent's container reaches the gateway alone: it adds the episode's credential, which Harbor could not pass on.
With DAYSHIFT_CONTROL_URL set, the gateway uses that stack instead of starting one.
"""

import asyncio
import hmac
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dayshift.connection import Address, AsyncConnection
from dayshift.episode import AsyncEpisode
from dayshift.errors import DayshiftError, MissingExtra, RetryLater, Unreachable
from dayshift.integrations.harbor import GATEWAY_PORT
from dayshift.tool_surface import DEFAULT_SURFACE
from dayshift.wire import OpenRequest

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request, Response
except ImportError as error:
    raise MissingExtra("FastAPI and uvicorn", "openenv") from error

from dayshift.integrations.mcp_relay import McpRelay

_START_ATTEMPTS = 240


class Gateway:
    """Passes the agent's MCP messages on, and gives the verifier the verdict."""

    def __init__(self, request: OpenRequest, surface: str, token: str) -> None:
        self._request, self._surface, self._token = request, surface, token

    async def open(self) -> None:
        """Waits for the stack and opens the episode."""
        address = Address.find()
        self._connection = AsyncConnection(address)
        for attempt in range(_START_ATTEMPTS):
            try:
                self.episode = await AsyncEpisode.open(
                    self._request, connection=self._connection, surface=self._surface
                )
                break
            except (RetryLater, Unreachable):
                if attempt + 1 == _START_ATTEMPTS:
                    raise
                await asyncio.sleep(0.5)
        self._relay = McpRelay(self.episode, self._surface)

    async def close(self) -> None:
        await self._relay.close()
        await self.episode.close()
        await self._connection.close()

    async def pass_on(self, request: "Request") -> "Response":
        return await self._relay.pass_on(request)

    async def judge(self, authorization: str) -> dict[str, Any]:
        if not hmac.compare_digest(authorization.encode(), f"Bearer {self._token}".encode()):
            raise HTTPException(401, "this is for the verifier")
        try:
            return (await self.episode.submit()).model_dump()
        except DayshiftError as fault:
            raise HTTPException(503, f"{type(fault).__name__}: {fault}") from fault


def create_app(gateway: Gateway) -> "FastAPI":
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await gateway.open()
        yield
        await gateway.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.api_route("/mcp", methods=["GET", "POST", "DELETE"])
    async def mcp(request: Request) -> Response:
        return await gateway.pass_on(request)

    @app.post("/verdict")
    async def verdict(request: Request) -> dict[str, Any]:
        return await gateway.judge(request.headers.get("authorization", ""))

    return app


def main() -> None:
    request = OpenRequest.model_validate_json(os.environ["HARBOR_OPEN_REQUEST"])
    gateway = Gateway(request, os.environ.get("HARBOR_SURFACE", DEFAULT_SURFACE), os.environ["HARBOR_VERIFIER_TOKEN"])
    stack = None
    if "DAYSHIFT_CONTROL_URL" not in os.environ:
        # The ports of the stack are bound to the container's own loopback address: only the gateway is reachable.
        token = {"DAYSHIFT_CONTROL_TOKEN": secrets.token_hex(24), "DAYSHIFT_HOST": "127.0.0.1"}
        os.environ.update(token, DAYSHIFT_HARNESS_HOST="127.0.0.1", DAYSHIFT_CONTROL_URL="http://127.0.0.1:8700")
        # The image's worlds are copied first: nothing needs to be built.
        stack = subprocess.Popen([sys.executable, "-m", "services.container", "up"])
    try:
        host, port = os.environ.get("HARBOR_HOST", "0.0.0.0"), int(os.environ.get("HARBOR_PORT", GATEWAY_PORT))  # noqa: S104 - the task's own network
        uvicorn.run(create_app(gateway), host=host, port=port, log_level="warning", access_log=False)
    finally:
        if stack is not None:
            stack.terminate()
            stack.wait(30)


if __name__ == "__main__":
    main()
