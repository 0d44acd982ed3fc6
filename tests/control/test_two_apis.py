"""The harness API stays closed to agents, whatever they try."""

import itertools
import socket

import httpx
import pytest

from services.kernel import catalog
from services.kernel.app import create_api
from tests.control.stack import Attempt, Stack

PATHS = (
    "/control",
    "/control/",
    "/control/episodes",
    "/control/episodes/",
    "//control/episodes",
    "/./control/episodes",
    "/../control/episodes",
    "/crm/../control/episodes",
    "/crm/v3/objects/contacts/../../../../control/episodes",
    "/%63ontrol/episodes",
    "/control%2fepisodes",
    "/%2e%2e/control/episodes",
    "/crm/%2e%2e/control/episodes",
    "/crm/..%2fcontrol/episodes",
    "/crm/..;/control/episodes",
    "/CONTROL/episodes",
    "/control/episodes?x=1",
    "/control/episodes#x",
    "/control\\episodes",
    "/control/episodes%00",
    "/control/episodes/playground/close",
    "/v1/episodes",
    "/metrics",
    "/health",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "SUMMON")
HEADERS = (
    {"x-forwarded-host": "127.0.0.1:{port}", "x-forwarded-for": "127.0.0.1"},
    {"x-original-url": "/control/episodes", "x-rewrite-url": "/control/episodes"},
    {"x-http-method-override": "POST", "x-method-override": "DELETE"},
    {"host": "127.0.0.1:{port}"},
    {"host": "control"},
    {"forwarded": "host=127.0.0.1:{port};proto=http"},
    {"upgrade": "websocket", "connection": "close, upgrade"},
)
# Words that only the harness API would answer with.
REVEALING = ("instance", "idle_seconds", "trajectory", "fingerprint", "dayshift_open", "episode")


@pytest.fixture(scope="module")
def attempt(stack: Stack) -> Attempt:
    return stack.open(task=None)


@pytest.mark.parametrize("method", METHODS)
def test_no_path_of_the_agent_api_leads_to_the_harness(attempt: Attempt, method: str) -> None:
    before = attempt.get()["revisions"]

    for path in PATHS:
        status, body = _raw(attempt, method, path, {})
        assert status >= 400 or method == "OPTIONS", (method, path, status, body)
        assert not any(word in body.lower() for word in REVEALING), (method, path, body)

    assert attempt.get()["revisions"] == before


@pytest.mark.parametrize("headers", HEADERS)
def test_no_header_turns_the_agent_api_into_the_harness_api(attempt: Attempt, headers: dict[str, str]) -> None:
    filled = {name: value.format(port=_harness_port(attempt)) for name, value in headers.items()}

    for path in ("/control/episodes", "/crm/v3/objects/contacts/101"):
        status, body = _raw(attempt, "GET", path, filled)
        assert status == (404 if path.startswith("/control") else 200), (path, status, body)
        assert not any(word in body.lower() for word in REVEALING)


def test_the_harness_api_takes_no_credential_of_an_agent_and_reveals_nothing(attempt: Attempt, stack: Stack) -> None:
    credential = attempt.opened["products"]["crm"]["credential"]
    sent_headers = (
        {},
        {"authorization": f"Bearer {credential}"},
        {"authorization": f"bearer {credential}"},
        {"authorization": credential},
        {"authorization": "Bearer playground-of-this-test"},
        {"authorization": "Bearer control-token-of-this-test"},
        {"authorization": "Bearer null"},
        {"x-api-key": credential},
        {"cookie": f"token={credential}"},
    )
    paths = ("/control/episodes", "/control/episodes/playground", "/metrics", "/openapi.json", "/docs", "/nothing", "/")
    for headers, path, method in itertools.product(sent_headers, paths, ("GET", "POST", "DELETE")):
        answer = httpx.request(method, f"http://127.0.0.1:{stack.base + 11}{path}", headers=headers)

        assert (answer.status_code, answer.content) == (401, b""), (headers, path, method)


def test_the_agents_routes_are_not_served_at_the_harness_api(attempt: Attempt, stack: Stack) -> None:
    credential = attempt.opened["products"]["crm"]["credential"]

    answer = httpx.get(
        f"http://127.0.0.1:{stack.base + 11}/crm/v3/objects/contacts",
        headers={"authorization": f"Bearer {credential}"},
    )

    assert answer.status_code == 401


@pytest.mark.parametrize("name", catalog.names())
def test_no_openapi_mentions_the_harness(name: str) -> None:
    document = create_api(catalog.product(name)).openapi()

    assert not [path for path in document["paths"] if "control" in path or "episode" in path]
    assert not any(word in str(document).lower() for word in ("episode", "harness", "reward", "verdict", "playground"))


def test_an_agents_credential_does_not_open_control(attempt: Attempt, stack: Stack) -> None:
    credential = attempt.opened["products"]["crm"]["credential"]

    for path in ("/v1/report", f"/v1/episodes/{attempt.id}", "/metrics"):
        answer = httpx.get(f"http://127.0.0.1:{stack.base}{path}", headers={"authorization": f"Bearer {credential}"})
        assert answer.status_code == 401


def _harness_port(attempt: Attempt) -> int:
    return attempt.stack.base + 11


def _raw(attempt: Attempt, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    """Byte for byte: a client library would tidy up what is tried here."""
    sent = {
        "host": f"127.0.0.1:{attempt.stack.base + 1}",
        "authorization": f"Bearer {attempt.opened['products']['crm']['credential']}",
        "connection": "close",
        "content-length": "2",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    with socket.create_connection(("127.0.0.1", attempt.stack.base + 1), timeout=10) as wire:
        wire.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n{{}}".encode())
        received = b""
        while chunk := wire.recv(65536):
            received += chunk
    text = received.decode(errors="replace")
    return int(text.split(" ", 2)[1]), text.partition("\r\n\r\n")[2]
