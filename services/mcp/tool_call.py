"""ToolCall: a plain `tools/call`, read and answered here; the `mcp` package takes more than twice the time of a call.

Whatever is not plainly a call of one of the known revisions is left to the package, which knows all rules and errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.types import Scope

from services.kernel.answers import Answer
from services.mcp.session import ToolAnswer

_CALL = "tools/call"
_MODERN = "2026-07-28"
_LEGACY = frozenset({"2025-11-25", "2025-06-18", "2025-03-26"})
_MESSAGE_KEYS = {"jsonrpc", "id", "method", "params"}
_PARAM_KEYS = frozenset({"name", "arguments", "_meta"})
_PREFIX = "io.modelcontextprotocol/"
_ROUTING = (b"mcp-protocol-version", b"mcp-method", b"mcp-name")
_PARAM_HEADER = b"mcp-param-"
_JSON = b"application/json"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool."""

    id: int | str
    name: str
    arguments: Mapping[str, Any]
    is_modern: bool

    def render(self, answer: ToolAnswer, server: Mapping[str, str]) -> Answer:
        result: dict[str, Any] = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
        if self.is_modern:
            result |= {"resultType": "complete", "_meta": {f"{_PREFIX}serverInfo": server}}
        body = orjson.dumps({"jsonrpc": "2.0", "id": self.id, "result": result})
        return Answer(200, body, ((b"content-type", _JSON),))


def read_tool_call(scope: Scope, body: bytes) -> ToolCall | None:
    """Returns the call, or None for whatever the package should look at."""
    headers = _read_headers(scope)
    if headers is None:
        return None
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict) or message.keys() != _MESSAGE_KEYS:
        return None
    number, params = message["id"], message["params"]
    is_request = message["jsonrpc"] == "2.0" and message["method"] == _CALL and type(number) in (int, str)
    if not is_request or not isinstance(params, dict) or not params.keys() <= _PARAM_KEYS:
        return None
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    if headers[b"mcp-protocol-version"] != _MODERN:
        return ToolCall(number, name, arguments, is_modern=False)
    return ToolCall(number, name, arguments, is_modern=True) if _agrees(headers, name, params.get("_meta")) else None


def _read_headers(scope: Scope) -> dict[bytes, str] | None:
    """The headers that route a message; None where one is missing, comes twice or asks for something else."""
    headers: dict[bytes, str] = {}
    accepts = content = b""
    for key, value in scope["headers"]:
        if key in _ROUTING:
            if key in headers:
                return None
            headers[key] = value.decode("latin-1")
        elif key == b"accept":
            accepts = value
        elif key == b"content-type":
            content = value
        elif key.startswith(_PARAM_HEADER):
            return None
    is_known = headers.get(b"mcp-protocol-version") in (_MODERN, *_LEGACY)
    return headers if is_known and _JSON in accepts and content.partition(b";")[0].strip() == _JSON else None


def _agrees(headers: Mapping[bytes, str], name: str, meta: object) -> bool:
    """Whether headers and message say the same, as the revision without sessions demands."""
    return (
        headers.get(b"mcp-method") == _CALL
        and headers.get(b"mcp-name") == name
        and isinstance(meta, dict)
        and meta.get(f"{_PREFIX}protocolVersion") == _MODERN
        and isinstance(meta.get(f"{_PREFIX}clientCapabilities"), dict)
        and isinstance(meta.get(f"{_PREFIX}clientInfo", {}), dict)
    )
