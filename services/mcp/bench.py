"""What a call through MCP costs beside the same plain call: `python -m services.mcp.bench`.

The kinds of calls take turns, so that a busy machine is busy for all of them alike. Each call through MCP is made
twice: as it is served, and so that the `mcp` package serves it (`Accept: */*` makes `tool_call` leave it alone).
The time that a client waits holds what other programs take, so the processors' time of the servers stands beside it.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
from dayshift.connection import Connection
from dayshift.episode import Episode

from services.kernel import catalog
from services.kernel.config import Settings
from services.temporary_stack import share_worlds, start_stack

_ROUNDS, _WARM_UP, _CALLS = 40, 5, 10
_MODERN, _LEGACY = "2026-07-28", "2025-11-25"
_TOOL, _PATH = "crm_contacts_list", "/crm/v3/objects/contacts?limit=10"
_ARGUMENTS = {"limit": 10}
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_SERVED, _BY_PACKAGE = "as served", "with the package"
_ACCEPTS = {_SERVED: "application/json, text/event-stream", _BY_PACKAGE: "*/*"}
_PLAIN = "a plain call"
Make = Callable[[], httpx.Response]
# What is called, and how it is served.
Kind = tuple[str, str]


def _calls(http: httpx.Client, episode: Episode) -> dict[Kind, Make]:
    access, office = episode.products["crm"], episode.mcp
    assert office is not None, "a whole stack serves MCP"
    own = {"authorization": f"Bearer {access.credential}"}
    endpoints = {
        "MCP at the product": (f"{access.base_url}/mcp", own),
        "MCP for all products": (office.url, {"authorization": f"Bearer {office.credential}"}),
    }
    calls: dict[Kind, Make] = {(_PLAIN, _SERVED): lambda: http.get(access.base_url + _PATH, headers=own)}
    for name, (url, headers) in endpoints.items():
        for served, accept in _ACCEPTS.items():
            accepting = {**headers, "accept": accept}
            calls[f"{name}, {_MODERN}", served] = partial(_call_modern, http, url, accepting)
            calls[f"{name}, {_LEGACY}", served] = partial(_call_legacy, http, url, accepting)
    return calls


def _call_modern(http: httpx.Client, url: str, headers: dict[str, str]) -> httpx.Response:
    routing = {"mcp-protocol-version": _MODERN, "mcp-method": "tools/call", "mcp-name": _TOOL}
    return http.post(url, json=_message({"_meta": _META}), headers={**routing, **headers})


def _call_legacy(http: httpx.Client, url: str, headers: dict[str, str]) -> httpx.Response:
    return http.post(url, json=_message({}), headers={"mcp-protocol-version": _LEGACY, **headers})


def _message(extra: dict[str, object]) -> dict[str, object]:
    params = {"name": _TOOL, "arguments": _ARGUMENTS, **extra}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@dataclass(frozen=True, slots=True)
class Cost:
    """The medians of one kind, for one call, in milliseconds: what the client waits, and what the servers compute."""

    waiting: float
    computing: float


def measure(episode: Episode) -> dict[Kind, Cost]:
    seconds: dict[Kind, list[float]] = {}
    nanoseconds: dict[Kind, list[float]] = {}
    servers = _list_descendants(os.getpid())
    with httpx.Client(timeout=60, trust_env=False) as http:
        calls = _calls(http, episode)
        for _ in range(_WARM_UP + _ROUNDS):
            for kind, make in calls.items():
                computed = _read_cpu(servers)
                for _ in range(_CALLS):
                    began = time.perf_counter()
                    make().raise_for_status()
                    seconds.setdefault(kind, []).append(time.perf_counter() - began)
                nanoseconds.setdefault(kind, []).append((_read_cpu(servers) - computed) / _CALLS)
    return {
        kind: Cost(
            statistics.median(seconds[kind][_WARM_UP * _CALLS :]) * 1e3,
            statistics.median(nanoseconds[kind][_WARM_UP:]) / 1e6,
        )
        for kind in calls
    }


def _list_descendants(pid: int) -> list[int]:
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [*children, *(each for child in children for each in _list_descendants(child))]


def _read_cpu(pids: Sequence[int]) -> int:
    """Returns the nanoseconds that all threads of these processes have computed."""
    threads = [thread for pid in pids for thread in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


@contextmanager
def _open_episode() -> Iterator[Episode]:
    with tempfile.TemporaryDirectory(prefix="mcp-bench-") as folder:
        share_worlds(Settings.from_environment(), Path(folder))
        environment = {"DAYSHIFT_WITHOUT": ",".join(name for name in catalog.all_names() if name != "crm")}
        with (
            start_stack(Path(folder), environment) as address,
            Connection(address) as connection,
            Episode.open(None, connection=connection) as episode,
        ):
            yield episode


def main() -> None:
    with _open_episode() as episode:
        costs = measure(episode)
    plain = costs[_PLAIN, _SERVED]
    print(f"{_PLAIN}: a client waits {plain.waiting:.2f} ms, the servers compute {plain.computing:.2f} ms")
    for (name, served), cost in costs.items():
        if name != _PLAIN:
            waiting, computing = cost.waiting / plain.waiting, cost.computing / plain.computing
            print(
                f"{name:<33} {served:<16} waits {waiting:.1f} ×, computes {computing:.1f} × ({cost.computing:.2f} ms)"
            )


if __name__ == "__main__":
    main()
