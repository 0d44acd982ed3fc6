"""McpRelay: passes MCP messages on to an episode's endpoint, with the credential that their sender does not have."""

from urllib.parse import quote

import httpx
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dayshift.episode import AsyncEpisode
from dayshift.errors import UsageError
from dayshift.integrations.http_bodies import read_body

_REQUEST_HEADERS = frozenset(
    {"accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"}
)
_RESPONSE_HEADERS = frozenset({"content-type", "mcp-session-id"})
_TIMEOUT_SECONDS = 300.0


class McpRelay:
    """For protocols that name an endpoint before the episode, and with it its credential, exists."""

    def __init__(self, episode: AsyncEpisode, surface: str) -> None:
        if episode.mcp is None:
            raise UsageError("this stack serves no MCP: start it with its port for MCP")
        headers = {"authorization": f"Bearer {episode.mcp.credential}"}
        self._client = httpx.AsyncClient(headers=headers, timeout=_TIMEOUT_SECONDS, trust_env=False)
        self._url = f"{episode.mcp.url}?surface={quote(surface, safe='()*,.')}"

    async def pass_on(self, request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name in _REQUEST_HEADERS}
        try:
            answer = await self._client.request(
                request.method, self._url, headers=headers, content=await read_body(request)
            )
        except httpx.HTTPError as cut:
            raise HTTPException(502, "The service does not answer.") from cut
        kept = {name: value for name, value in answer.headers.items() if name in _RESPONSE_HEADERS}
        return Response(answer.content, answer.status_code, kept)

    async def close(self) -> None:
        await self._client.aclose()
