"""What goes over the wire, frame by frame, in both revisions of the protocol."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from dayshift.connection import Connection
from dayshift.episode import Episode

from tests.mcp.agents import Endpoint, office, product

MODERN = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "frames", "version": "1"},
}
ENDPOINTS = {"product": product, "office": office}


@pytest.fixture(scope="module", params=ENDPOINTS)
def endpoint(request: pytest.FixtureRequest, address: Any) -> Iterator[Endpoint]:
    with Connection(address) as connection, Episode.open(None, connection=connection) as episode:
        yield ENDPOINTS[request.param](episode)


@pytest.fixture
def http(endpoint: Endpoint) -> Iterator[httpx.Client]:
    accept = {"accept": "application/json, text/event-stream"}
    with httpx.Client(headers={**endpoint.headers, **accept}, timeout=120) as client:
        yield client


def modern(http: httpx.Client, url: str, method: str, **params: Any) -> httpx.Response:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}}
    return http.post(url, json=message, headers=headers)


def legacy(http: httpx.Client, url: str, method: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return http.post(url, json=message, headers=headers or {"mcp-protocol-version": "2025-11-25"})


def test_a_client_without_sessions_discovers_lists_and_calls(http: httpx.Client, endpoint: Endpoint) -> None:
    discovered = modern(http, endpoint.url, "server/discover").json()["result"]
    listed = modern(http, endpoint.url, "tools/list").json()["result"]
    called = modern(http, endpoint.url, "tools/call", name="crm_contacts_search", arguments={"limit": 1})

    assert discovered["supportedVersions"] == [MODERN]
    assert "tools" in discovered["capabilities"]
    assert listed["resultType"] == "complete"
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
    assert called.json()["result"]["isError"] is False
    assert called.headers["content-type"] == "application/json"


def test_a_client_that_initializes_gets_no_session_id(http: httpx.Client, endpoint: Endpoint) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "frames", "version": "1"}}
    first = legacy(http, endpoint.url, "initialize", {"accept": "application/json, text/event-stream"}, **client)
    initialized = http.post(endpoint.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    listed = legacy(http, endpoint.url, "tools/list")
    called = legacy(http, endpoint.url, "tools/call", name="crm_contacts_search", arguments={"limit": 1})

    assert first.json()["result"]["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" not in first.headers
    assert initialized.status_code == 202
    assert listed.json()["result"].keys() == {"tools"}
    assert called.json()["result"]["isError"] is False


def test_both_revisions_are_given_the_same_tools_in_the_same_order(http: httpx.Client, endpoint: Endpoint) -> None:
    new = modern(http, endpoint.url, "tools/list").json()["result"]["tools"]

    assert new == legacy(http, endpoint.url, "tools/list").json()["result"]["tools"]
    assert new == modern(http, endpoint.url, "tools/list").json()["result"]["tools"]


def test_headers_that_contradict_the_body_are_refused(http: httpx.Client, endpoint: Endpoint) -> None:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "crm_contacts_get"}
    params = {"name": "crm_contacts_search", "arguments": {}, "_meta": _META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    refused = http.post(endpoint.url, json=message, headers=headers)

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0","id":1}', b"\xff\xfe", b"9" * 5_000])
@pytest.mark.parametrize("version", [MODERN, "2025-11-25", "1999-01-01", ""])
def test_what_is_no_message_is_refused_as_such(
    http: httpx.Client, endpoint: Endpoint, body: bytes, version: str
) -> None:
    headers = {"content-type": "application/json", **({"mcp-protocol-version": version} if version else {})}

    answer = http.post(endpoint.url, content=body, headers=headers)

    assert 400 <= answer.status_code < 500
    assert "error" in answer.json()


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_open_and_no_session_to_end(http: httpx.Client, endpoint: Endpoint, method: str) -> None:
    answer = http.request(method, endpoint.url)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "credential", ["", "Bearer wrong", "Bearer playground", "Basic d3Jvbmc6", "Bearer " + "x" * 600]
)
def test_nobody_gets_in_without_a_credential_of_an_agent(endpoint: Endpoint, credential: str) -> None:
    headers = {"authorization": credential} if credential else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    assert httpx.post(endpoint.url, json=message, headers=headers).status_code == 401


def test_a_page_of_another_site_cannot_use_the_endpoint(http: httpx.Client, endpoint: Endpoint) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    statuses = {
        origin: http.post(endpoint.url, json=message, headers={"origin": origin}).status_code
        for origin in ("https://evil.example", "null", "http://[", "http://localhost:6274")
    }

    assert statuses == {"https://evil.example": 403, "null": 403, "http://[": 403, "http://localhost:6274": 200}


@pytest.mark.parametrize(
    "query", ["surface=nothing", "surface=only(nothing.*)", "surface=task", "max_answer_chars=1", "max_answer_chars=x"]
)
def test_tools_that_there_are_not_are_refused_to_whoever_asks(
    http: httpx.Client, endpoint: Endpoint, query: str
) -> None:
    answer = legacy(http, f"{endpoint.url}?{query}", "tools/list")

    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_a_message_over_the_limit_is_refused(http: httpx.Client, endpoint: Endpoint) -> None:
    message = legacy(http, endpoint.url, "tools/call", name="find_operations", arguments={"words": "x" * (17 << 20)})

    assert message.status_code == 413


@pytest.mark.parametrize("tool", ["crm_contacts_search", "no_such_tool"])
def test_a_plain_call_and_one_that_the_package_serves_are_answered_alike(
    http: httpx.Client, endpoint: Endpoint, tool: str
) -> None:
    """`Accept: */*` is enough for the package to look at a call itself."""
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": tool}
    params = {"name": tool, "arguments": {"limit": 1, "sorts": []}, "_meta": _META}
    new = {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}
    old = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": {}}}

    for message, routing in ((new, headers), (old, {"mcp-protocol-version": "2025-11-25"})):
        plain = http.post(endpoint.url, json=message, headers=routing)
        served = http.post(endpoint.url, json=message, headers={**routing, "accept": "*/*"})

        assert (plain.status_code, plain.headers["content-type"]) == (
            served.status_code,
            served.headers["content-type"],
        )
        assert plain.json() == served.json()
