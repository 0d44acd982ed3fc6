"""McpEndpoint: streamable HTTP in the revisions with `initialize` and without sessions.

The official `mcp` package serves it, but for plain calls of tools, which `tool_call` reads and answers. There are no
session ids: the credential binds every request to its episode, in both revisions.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import mcp_types as types
from dayshift.answer_text import MAX_ANSWER_CHARS
from dayshift.operations import Operation
from dayshift.tool_surface import DEFAULT_SURFACE, NoSuchSurface, Surface
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from services.kernel.answers import Answer
from services.kernel.asgi import BodyEnded, BodyOverLimit, find_header, read_body, send_answer
from services.mcp.session import Session
from services.mcp.tool_call import read_tool_call

PATH = "/mcp"
_TOOLS = "dayshift.tools"
_SURFACE_HEADER = b"x-tool-surface"
_LONGEST_SURFACE = 1_000
_FEWEST_CHARS, _MOST_CHARS = 500, 1_000_000
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_INVALID_REQUEST = -32600
# It logs two lines for every request.
logging.getLogger("mcp.server").setLevel(logging.WARNING)


class BadChoice(ValueError):
    """The URL or a header asks for a list of tools that there is not; the message is for whoever connects the agent."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The session of a request and the tools that its client asks for."""

    session: Session
    surface: Surface


# Returns the session of a request, or the answer that refuses it.
FindSession = Callable[[Scope], Awaitable[Session | Answer]]


class McpEndpoint:
    """The ASGI app of one endpoint; `close` ends what `start` began."""

    def __init__(self, name: str, version: str, find_session: FindSession, body_limit: int) -> None:
        self._find_session = find_session
        self._body_limit = body_limit
        self._server_info = {"name": name, "version": version}
        server: Server[Any] = Server(
            name,
            version=version,
            on_list_tools=_list_tools,
            on_call_tool=_call_tool,
            # Without it, every call would list all tools once more to look for schemas that name headers.
            get_tool_input_schema=_declare_no_headers,
        )
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=body_limit
        )
        self._running: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()

    async def start(self) -> None:
        self._running = asyncio.create_task(self._run())
        await self._is_ready.wait()

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    async def _run(self) -> None:
        async with self._manager.run():
            self._is_ready.set()
            await asyncio.Event().wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # No stream of messages that nobody asked for, and no session to end.
            await send_answer(Answer(405, b"", ((b"allow", b"POST"),)), send)
            return
        if not _is_allowed_origin(scope):
            await send_answer(_error(403, "Requests from this origin are not allowed."), send)
            return
        session = await self._find_session(scope)
        if isinstance(session, Answer):
            await send_answer(session, send)
            return
        try:
            tools = scope[_TOOLS] = Tools(session, _choose_surface(scope, session))
            body = await read_body(scope, receive, self._body_limit)
        except BadChoice as error:
            await send_answer(_error(400, str(error)), send)
            return
        except BodyOverLimit:
            await send_answer(_error(413, "The message is too large."), send)
            return
        except BodyEnded:
            return
        if (call := read_tool_call(scope, body)) is not None:
            answer = await session.call(tools.surface, call.name, call.arguments)
            await send_answer(call.render(answer, self._server_info), send)
            return
        await self._manager.handle_request(scope, _replay(body, receive), send)


async def _list_tools(context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None) -> Any:
    """In the order of the surface, which is the same for everybody. Revisions before 2026 have no cache fields."""
    tools = [_describe(tool) for tool in _tools_of(context).surface.tools]
    return {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


async def _call_tool(context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Any:
    tools = _tools_of(context)
    answer = await tools.session.call(tools.surface, params.name, params.arguments or {})
    content = [{"type": "text", "text": answer.text}]
    return {"content": content, "isError": answer.is_error, "resultType": "complete"}


def _tools_of(context: ServerRequestContext[Any, Any]) -> Tools:
    assert context.request is not None, "every message here comes over HTTP"
    tools: Tools = context.request.scope[_TOOLS]
    return tools


def _describe(operation: Operation) -> dict[str, Any]:
    tool = {
        "name": operation.tool_name,
        "description": operation.description,
        "inputSchema": operation.lean_schema,
    }
    is_read_only = operation.is_read_only and not operation.belongs_to_harness
    return {**tool, "annotations": {"readOnlyHint": True}} if is_read_only else tool


def _declare_no_headers(_: str) -> None:
    return None


def _choose_surface(scope: Scope, session: Session) -> Surface:
    """Reads `?surface=…&max_answer_chars=…`; a client that cannot change its URL sends the header X-Tool-Surface."""
    query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
    header = (find_header(scope, _SURFACE_HEADER) or b"").decode("latin-1")
    name, limit = query.get("surface") or header or DEFAULT_SURFACE, query.get("max_answer_chars")
    if limit is not None and not (limit.isdecimal() and len(limit) < 8 and _FEWEST_CHARS <= int(limit) <= _MOST_CHARS):
        raise BadChoice(f"max_answer_chars is a number from {_FEWEST_CHARS} to {_MOST_CHARS}")
    try:
        if len(name) > _LONGEST_SURFACE:
            raise NoSuchSurface(name)
        return session.surface(name, MAX_ANSWER_CHARS if limit is None else int(limit))
    except NoSuchSurface:
        raise BadChoice("there is no such surface") from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body that was read already, and then waits for the client as before."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _is_allowed_origin(scope: Scope) -> bool:
    """A page of some other site must not use this machine's endpoint through its reader's browser."""
    origin = find_header(scope, b"origin")
    if origin is None:
        return True
    try:
        host = urlsplit(origin.decode("latin-1")).hostname
        own = urlsplit("//" + (find_header(scope, b"host") or b"").decode("latin-1")).hostname
    except ValueError:
        return False
    return host is not None and (host in _LOOPBACK or host == own)


def _error(status: int, message: str) -> Answer:
    return Answer.json(status, {"jsonrpc": "2.0", "id": None, "error": {"code": _INVALID_REQUEST, "message": message}})
