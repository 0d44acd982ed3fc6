"""Nobody but a person with the console's token comes in, and no page can be made to write for them."""

from collections.abc import Callable

import httpx
import pytest
from dayshift.episode import Episode

from services.console.login import COOKIE, Sessions
from tests.console.conftest import CONSOLE_TOKEN, Console
from tests.control.stack import PLAYGROUND, TOKEN, Stack


@pytest.fixture
def stranger(stack: Stack) -> httpx.Client:
    client = httpx.Client(base_url=Console(stack).url, timeout=120)
    stack.clients.append(client)
    return client


PATHS = ("/api/session", "/api/live", "/api/episodes", "/api/approvals", "/api/audit", "/api/dashboard", "/api/reviews")


@pytest.mark.parametrize("path", PATHS)
def test_without_a_session_nothing_is_told(stranger: httpx.Client, path: str) -> None:
    assert stranger.get(path).status_code == 401
    assert stranger.get("/").status_code == 303
    assert stranger.get("/assets/app.js").status_code == 303


def test_no_credential_of_an_agent_and_no_other_token_opens_it(
    stranger: httpx.Client, open_episode: Callable[..., Episode]
) -> None:
    credential = open_episode().products["crm"].credential
    for secret in (credential, PLAYGROUND, TOKEN):
        for headers in ({"authorization": f"Bearer {secret}"}, {"cookie": f"{COOKIE}={secret}"}):
            assert stranger.get("/api/live", headers=headers).status_code == 401
        assert stranger.post("/login", data={"token": secret, "person": "Eve"}).status_code in (401, 429)


def test_the_cookie_is_for_the_server_alone_and_holds_no_secret(stack: Stack) -> None:
    answer = Console(stack).client.post("/login", data={"token": CONSOLE_TOKEN, "person": "Ada"})
    if answer.status_code == 429:
        pytest.fail("too many wrong tokens in this session")

    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert CONSOLE_TOKEN not in cookie
    assert CONSOLE_TOKEN not in str(answer.headers["location"])


def test_a_write_needs_the_sessions_own_csrf_token_and_origin(console: Console) -> None:
    path = "/api/reviews"

    assert console.client.post(path, json={}).status_code == 403
    assert console.client.post(path, json={}, headers={"x-csrf-token": "guess"}).status_code == 403
    foreign = {"x-csrf-token": console.csrf, "origin": "https://evil.example"}
    assert console.client.post(path, json={}, headers=foreign).status_code == 403


def test_another_name_that_leads_here_is_refused(console: Console) -> None:
    assert console.client.get("/api/session", headers={"host": "evil.example"}).status_code == 403


def test_the_pages_run_no_inline_script(console: Console) -> None:
    policy = console.client.get("/").headers["content-security-policy"]

    assert "script-src 'self'" in policy
    assert "unsafe-inline" not in policy


def test_signing_out_ends_the_session(stack: Stack) -> None:
    other = Console(stack, "Bob").sign_in()

    for guess in (b"guess", "é".encode("latin-1")):
        assert other.client.post("/logout", headers={"x-csrf-token": guess}).status_code == 403
    assert other.client.post("/logout", headers={"x-csrf-token": other.csrf}).status_code == 200
    assert other.client.get("/api/session").status_code == 401


def test_guessing_tokens_soon_becomes_pointless() -> None:
    now = [0.0]
    sessions = Sessions("right-token", now=lambda: now[0])

    for _ in range(10):
        assert sessions.open("wrong", "Eve") is None
    assert sessions.is_blocked
    now[0] = 61.0
    assert not sessions.is_blocked
    assert sessions.open("right-token", "Ada") is not None


def test_no_product_and_not_control_is_told_the_consoles_token(stack: Stack) -> None:
    for name, pid in stack.children().items():
        with open(f"/proc/{pid}/environ", "rb") as environment:  # noqa: PTH123 - no file
            knows = CONSOLE_TOKEN.encode() in environment.read()
        assert knows == (name == "console"), name
