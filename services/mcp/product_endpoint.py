"""MCP at a product's agent API. Light to import: what speaks MCP is loaded when the first agent asks for it."""

import asyncio
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from services.kernel.agent_api import AgentApi
from services.kernel.asgi import send_answer
from services.kernel.config import Settings
from services.kernel.errors import Refusal

if TYPE_CHECKING:
    from services.mcp.in_process import InProcess


class ProductMcp:
    """The extension of one product's agent API."""

    path = "/mcp"

    def __init__(self, api: AgentApi, settings: Settings) -> None:
        self._api = api
        self._settings = settings
        self._loading = asyncio.Lock()
        self._loaded: InProcess | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._loaded is None:
            try:
                # Nobody else may make this process load anything.
                self._api.authenticate(scope)
            except Refusal as refusal:
                await send_answer(self._api.refuse(scope, refusal), send)
                return
        await (await self._load()).endpoint(scope, receive, send)

    async def close(self) -> None:
        if self._loaded is not None:
            await self._loaded.close()

    async def _load(self) -> "InProcess":
        async with self._loading:
            if self._loaded is None:
                loaded = await asyncio.to_thread(_import, self._api, self._settings)
                await loaded.start()
                self._loaded = loaded
        return self._loaded


def _import(api: AgentApi, settings: Settings) -> "InProcess":
    """In a thread: it takes most of a second, and other agents' requests go on meanwhile."""
    from services.mcp.in_process import InProcess

    return InProcess(api, settings)
