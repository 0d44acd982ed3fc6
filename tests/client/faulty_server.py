"""FaultyServer: control and a product on one socket, with scripted responses."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dayshift.connection import Address
from dayshift.wire import Budget, Closed, MenuItem, Opened, ProductAccess, Trajectory, TrajectoryStep, Verdict

from services.kernel import catalog
from services.kernel.app import create_api

CLOCK = "2026-11-16T09:00:00.000Z"
DATE = "Mon, 16 Nov 2026 09:00:01 GMT"
_READ = json.dumps({"id": "1", "properties": {}}).encode()
HANG = b"hang"
DROP = b"drop"


def answer(status: int = 200, revision: int | None = 1, body: bytes = _READ, **headers: str) -> bytes:
    response = {"content-type": "application/json", "date": DATE, **headers}
    if revision is not None:
        response["x-data-revision"] = str(revision)
    head = "".join(f"{name}: {value}\r\n" for name, value in response.items())
    return f"HTTP/1.1 {status} Said\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class FaultyServer:
    """Gives its scripted answers to product calls in order, the last one for ever."""

    script: list[bytes] = field(default_factory=lambda: [answer()])
    verdict: Verdict = field(default_factory=lambda: Verdict(outcome="passed", reward=1.0))
    # What control will say was planned, by step.
    planned: dict[int, str] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    raw_submit: bytes | None = None
    # How often control asks to come back later before it opens an episode.
    busy: int = 0
    # The candidate calls that control offers.
    menu: list[MenuItem] | None = None

    def start(self) -> None:
        # Written before anybody waits for it: describing a whole product takes a while.
        _document()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    @property
    def address(self) -> Address:
        return Address(f"http://127.0.0.1:{self._port}", "any")

    def product_calls(self) -> list[dict[str, str]]:
        return [headers for _, path, headers in self.requests if path.startswith("/crm/")]

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._connection_tasks: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._serve_connection, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in self._connection_tasks:
            task.cancel()
        await asyncio.gather(*self._connection_tasks, return_exceptions=True)

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connection_tasks.add(task)
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) != b"":
                method, path, headers = _parse_head(head)
                await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests.append((method, path, headers))
                response = self._respond(method, path)
                if response == HANG:
                    await asyncio.sleep(60)
                if response == DROP:
                    return
                writer.write(response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()
            self._connection_tasks.discard(task)

    def _respond(self, method: str, path: str) -> bytes:
        if path.startswith("/crm/"):
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if path.endswith("/openapi.json"):
            return answer(body=_document())
        routes: dict[str, Callable[[], bytes]] = {
            "/v1/episodes": self._open_episode,
            "/v1/episodes/e1/submit": lambda: self.raw_submit or _encode(self.verdict),
            "/v1/episodes/e1/close": lambda: _encode(Closed(episode_id="e1", outcome="unscored", because="closed")),
            "/v1/episodes/e1/trajectory": self._trajectory,
        }
        return routes[path]() if path in routes else answer(404, body=b'{"error":"not_found","message":"nothing"}')

    def _open_episode(self) -> bytes:
        if self.busy:
            self.busy -= 1
            return answer(503, body=b'{"error":"unavailable","message":"crm is starting","retry_after":1}')
        base = self.address.url
        access = ProductAccess(base_url=base, credential="pat-na1-of-this-test", openapi_url=f"{base}/openapi.json")
        return _encode(
            Opened(
                episode_id="e1",
                task="crm/any",
                seed=1,
                brief="Do it.",
                budget=Budget(steps=10, hours=0),
                products={"crm": access},
                fingerprint="f",
                clock=CLOCK,
                menu=self.menu,
            )
        )

    def _trajectory(self) -> bytes:
        steps = [
            TrajectoryStep(
                product="crm",
                operation="crm.contacts.list",
                method="GET",
                path="/crm/v3/objects/contacts",
                query="",
                request="",
                status=0,
                answer="",
                revision=1,
                clock=CLOCK,
                fault=fault,
                milliseconds=1.0,
                key=f"e1-{number}",
                replayed=False,
            )
            for number, fault in self.planned.items()
        ]
        return _encode(Trajectory(episode_id="e1", steps=steps))


@cache
def _document() -> bytes:
    return json.dumps(create_api(catalog.product("crm")).openapi()).encode()


def _encode(message: Any) -> bytes:
    return answer(201, body=message.model_dump_json().encode())


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return method, target.partition("?")[0], headers
