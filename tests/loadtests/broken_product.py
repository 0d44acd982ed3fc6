"""A product process with a bug in its agent API, which the checkers must detect.

python -m tests.loadtests.broken_product stale_cache | lost_update | leak
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.logs import start_logging
from services.kernel.serve import Service

Bug = Callable[[ASGIApp], ASGIApp]
_CACHED_FOR = 40
_LEAK_EVERY = 50


def stale_cache(app: ASGIApp) -> ASGIApp:
    """Reads by id are answered from a cache that writes do not clear."""
    kept: dict[tuple[bytes, str, bytes], tuple[int, list[Message]]] = {}
    served = 0

    async def cached(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal served
        if scope["type"] != "http" or scope["method"] != "GET":
            await app(scope, receive, send)
            return
        served += 1
        key = (_credential(scope), scope["path"], scope["query_string"])
        since, messages = kept.get(key, (-_CACHED_FOR, []))
        if served - since >= _CACHED_FOR:
            messages = await _collect_response(app, scope, receive)
            kept[key] = (served, messages)
        for message in messages:
            await send(message)

    return cached


def lost_update(app: ASGIApp) -> ASGIApp:
    """An update reads the whole record, thinks for a moment, and writes all of it back."""

    async def read_and_write_back(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "PATCH":
            await app(scope, receive, send)
            return
        change = json.loads(await _body(receive))
        reading = {**scope, "method": "GET", "query_string": b"properties=phone,jobtitle"}
        before = json.loads(_body_of(await _collect_response(app, reading, _receive(b""))))
        # As long as a busy machine takes for several requests, so that another client's write falls into it.
        await asyncio.sleep(0.1)
        old = {name: value for name, value in before["properties"].items() if name in ("phone", "jobtitle") and value}
        whole = json.dumps({"properties": {**old, **change["properties"]}}).encode()
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        await app({**scope, "headers": headers}, _receive(whole), send)

    return read_and_write_back


def leak(app: ASGIApp) -> ASGIApp:
    """Now and then a read is answered from another episode's world."""
    seen: list[bytes] = []
    served = 0

    async def leaking(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal served
        if scope["type"] == "http" and scope["method"] == "GET":
            served += 1
            own = _credential(scope)
            if own not in seen:
                seen.append(own)
            other = next((one for one in reversed(seen) if one != own), None)
            if served % _LEAK_EVERY == 0 and other is not None:
                headers = [(n, other if n == b"authorization" else value) for n, value in scope["headers"]]
                scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return leaking


BUGS: dict[str, Bug] = {"stale_cache": stale_cache, "lost_update": lost_update, "leak": leak}


class BrokenService(Service):
    """The real service behind a broken agent API."""

    bug: Bug

    def agent_app(self) -> ASGIApp:
        return self.bug(super().agent_app())


def _credential(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"authorization"), b"")


async def _collect_response(app: ASGIApp, scope: Scope, receive: Receive) -> list[Message]:
    messages: list[Message] = []

    async def keep(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, keep)
    return messages


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def _body_of(messages: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in messages)


def _receive(body: bytes) -> Callable[[], Awaitable[Message]]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def main() -> None:
    settings = Settings.from_environment()
    start_logging(settings.log_level)
    service = BrokenService(catalog.product("crm"), settings)
    service.bug = BUGS[sys.argv[1]]
    uvloop.run(service.run())


if __name__ == "__main__":
    main()
