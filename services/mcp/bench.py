"""What a call through MCP costs beside the same plain call: `python -m services.mcp.bench`.

The kinds of calls take turns, so that a busy machine is busy for all of them alike.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from dayshift.connection import Connection
from dayshift.episode import Episode

from services.kernel import catalog
from services.kernel.config import Settings
from services.temporary_stack import share_worlds, start_stack

_ROUNDS, _WARM_UP = 400, 50
_MODERN = "2026-07-28"
_TOOL, _PATH = "crm_contacts_list", "/crm/v3/objects/contacts?limit=10"
_ARGUMENTS = {"limit": 10}
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_ACCEPT = {"accept": "application/json, text/event-stream"}
Make = Callable[[], httpx.Response]


def _calls(http: httpx.Client, episode: Episode) -> dict[str, Make]:
    access, office = episode.products["crm"], episode.mcp
    assert office is not None, "a whole stack serves MCP"
    own = {"authorization": f"Bearer {access.credential}"}
    shared = {"authorization": f"Bearer {office.credential}"}
    product = f"{access.base_url}/mcp"
    return {
        "a plain call": lambda: http.get(access.base_url + _PATH, headers=own),
        "MCP at the product, 2026-07-28": lambda: _call_modern(http, product, own),
        "MCP at the product, 2025-11-25": lambda: _call_legacy(http, product, own),
        "MCP for all products, 2026-07-28": lambda: _call_modern(http, office.url, shared),
        "MCP for all products, 2025-11-25": lambda: _call_legacy(http, office.url, shared),
    }


def _call_modern(http: httpx.Client, url: str, headers: dict[str, str]) -> httpx.Response:
    routing = {"mcp-protocol-version": _MODERN, "mcp-method": "tools/call", "mcp-name": _TOOL}
    return http.post(url, json=_message({"_meta": _META}), headers={**_ACCEPT, **routing, **headers})


def _call_legacy(http: httpx.Client, url: str, headers: dict[str, str]) -> httpx.Response:
    return http.post(url, json=_message({}), headers={**_ACCEPT, "mcp-protocol-version": "2025-11-25", **headers})


def _message(extra: dict[str, object]) -> dict[str, object]:
    params = {"name": _TOOL, "arguments": _ARGUMENTS, **extra}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def measure(episode: Episode) -> dict[str, float]:
    """Returns the median of each kind in milliseconds."""
    seconds: dict[str, list[float]] = {}
    with httpx.Client(timeout=60, trust_env=False) as http:
        calls = _calls(http, episode)
        for _ in range(_WARM_UP + _ROUNDS):
            for name, make in calls.items():
                began = time.perf_counter()
                make().raise_for_status()
                seconds.setdefault(name, []).append(time.perf_counter() - began)
    return {name: statistics.median(values[_WARM_UP:]) * 1000 for name, values in seconds.items()}


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
        medians = measure(episode)
    plain = medians["a plain call"]
    for name, median in medians.items():
        print(f"{name:<34} {median:6.2f} ms  {median / plain:4.1f} ×")


if __name__ == "__main__":
    main()
