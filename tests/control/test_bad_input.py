"""Bad input at control's wire: a clear 4xx, a Problem, nothing changed."""

import json

import httpx
import pytest
from dayshift.wire import Problem

from tests.control.stack import TASK, Stack

OPEN = "/v1/episodes"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"", 422),
        (b"[]", 422),
        (b'{"task":"crm/correct-contact","seed":NaN}', 400),
        (b'{"task":"crm/correct-contact","seed":1e308}', 422),
        (b'{"task":"crm/correct-contact","seed":1e999}', 400),
        (b'{"task":"crm/correct-contact","seed":-1}', 422),
        (b'{"task":"crm/correct-contact","seed":9223372036854775808}', 422),
        (b'{"task":"crm/correct-contact","seed":1.5}', 422),
        (b'{"task":"crm/correct-contact","seed":1,"reward":1}', 422),
        (b'{"task":7,"seed":1}', 422),
        (b'{"seed":1}', 422),
        (b'{"task":"crm/correct-contact","split":"exam"}', 422),
        (b'{"task":"crm/correct-contact","world":"../../etc/passwd"}', 422),
        (b'{"task":"crm/correct-contact","faults":"sabotage"}', 422),
        (b'{"task":"crm/no-such-family"}', 404),
        (b'{"task":"../crm/correct-contact"}', 404),
        (b'{"task":' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
        (json.dumps({"task": "x" * 100_000}).encode(), 422),
        (b'{"task":"' + b"x" * (1 << 20) + b'"}', 413),
    ],
)
def test_a_bad_opening_is_declined_and_opens_nothing(stack: Stack, body: bytes, status: int) -> None:
    before = stack.control.get("/v1/report").json()["episodes"]

    answer = stack.control.post(OPEN, content=body, headers={"content-type": "application/json"})

    _require_problem(answer, status)
    assert stack.control.get("/v1/report").json()["episodes"] == before


@pytest.mark.parametrize("hours", ["-1", "0", "1e308", '"NaN"', '"Infinity"', "9000", "null", "[]", "true1"])
def test_hours_that_cannot_be_waited_are_declined(stack: Stack, hours: str) -> None:
    attempt = stack.open(task=None)
    before = attempt.get()["clock"]

    answer = stack.control.post(
        f"{OPEN}/{attempt.id}/wait",
        content=f'{{"hours":{hours}}}'.encode(),
        headers={"content-type": "application/json"},
    )

    _require_problem(answer, 400, 422)
    assert attempt.get()["clock"] == before


def test_an_answer_nested_without_end_is_declined_and_the_episode_stays_open(stack: Stack) -> None:
    attempt = stack.open()
    nested = b'{"answer":' + b"[" * 600 + b"]" * 600 + b"}"

    answer = stack.control.post(
        f"{OPEN}/{attempt.id}/submit", content=nested, headers={"content-type": "application/json"}
    )

    _require_problem(answer, 400, 422)
    assert attempt.get()["state"] == "open"


@pytest.mark.parametrize(
    "episode_id", ["0" * 24, "nobody", "%00", "..%2f..%2fhealth", "%ff", "a" * 5000, "' OR 1=1 --", "playground"]
)
@pytest.mark.parametrize("row", ["", "/diff", "/trajectory", "/submit", "/close", "/wait"])
def test_an_unknown_episode_is_not_found(stack: Stack, episode_id: str, row: str) -> None:
    method = "POST" if row in ("/submit", "/close", "/wait") else "GET"
    body = {"hours": 1} if row == "/wait" else {}

    answer = stack.control.request(method, f"{OPEN}/{episode_id}{row}", json=body)

    _require_problem(answer, 404)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer control-token-of-this-tes"},
        {"authorization": "Bearer control-token-of-this-test2"},
        {"authorization": "Basic control-token-of-this-test"},
        {"authorization": "Bearer playground-of-this-test"},
        {"authorization": "Bearer " + "x" * 10_000},
    ],
)
@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/report", "/metrics", "/v1/nothing", "/v1/episodes/" + "0" * 24])
def test_without_the_token_nothing_is_told(stack: Stack, headers: dict[str, str], path: str) -> None:
    _require_problem(httpx.get(f"http://127.0.0.1:{stack.base}{path}", headers=headers), 401)


def test_unknown_addresses_and_methods_are_problems_too(stack: Stack) -> None:
    _require_problem(stack.control.get("/v1/nothing"), 404)
    _require_problem(stack.control.delete("/v1/tasks"), 405)
    _require_problem(stack.control.get("/openapi.json"), 404)
    _require_problem(stack.control.get("/v1/report", params={"since": "yesterday"}), 422)
    _require_problem(stack.control.get("/v1/tasks", params={"split": "exam"}), 422)


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_an_absurd_idempotency_key_is_declined(stack: Stack, key: str) -> None:
    answer = stack.control.post(OPEN, json={"task": TASK, "seed": 1}, headers={"idempotency-key": key})

    _require_problem(answer, 400)


def _require_problem(answer: httpx.Response, *statuses: int) -> None:
    assert answer.status_code in statuses, answer.text
    problem = Problem.model_validate_json(answer.content)
    assert problem.message
    assert "Traceback" not in answer.text
