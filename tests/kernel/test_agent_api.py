"""The agent API is ordered, atomic, repeatable, and silent about what it is."""

import asyncio
import base64
import itertools
import json
import re
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI, Response

from services.kernel.agent_api import Dropped
from services.kernel.dispatch import Dispatch
from services.kernel.faults import PLANS, FaultKind, FaultPlan, FaultRates
from services.kernel.harness_api import create_harness_api
from services.kernel.product_host import ProductHost
from services.kernel.world import World
from tests.kernel.pantry import Pantry, product, shelves

pytestmark = pytest.mark.anyio


async def test_every_answer_carries_the_revision_it_was_given_at(pantry: Pantry) -> None:
    pantry.open()
    async with pantry.client() as agent:
        read = await agent.get("/shelves/1")
        written = await agent.patch("/shelves/1", json={"label": "jam"})
        again = await agent.get("/shelves/1")

    assert [answer.headers["x-data-revision"] for answer in (read, written, again)] == ["0", "1", "1"]
    assert again.json()["label"] == "jam"


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer pk_one_secret"},
        {"authorization": "bearer pk_one_secret"},
        {"authorization": "Basic " + base64.b64encode(b"ann@corvane.eu/token:pk_one_secret").decode()},
        {"authorization": "Basic " + base64.b64encode(b"pk_one_secret:").decode()},
        {"x-api-key": "pk_one_secret"},
    ],
)
async def test_a_credential_is_recognised_in_each_form_its_clients_send(
    pantry: Pantry, headers: dict[str, str]
) -> None:
    pantry.open()
    async with pantry.client() as agent:
        del agent.headers["authorization"]
        answer = await agent.get("/shelves/1", headers=headers)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer pk_two_secret"},
        {"authorization": "Bearer pk_one_secre"},
        {"authorization": "Bearer pk_one_secret "[:-2]},
        {"authorization": "Bearer"},
        {"authorization": "Basic !!!"},
        {"authorization": "Basic " + base64.b64encode(b"\xff\xfe:\xff").decode()},
        {"x-api-key": "k" * 5000},
        {"authorization": "Bearer " + "k" * 5000},
    ],
)
async def test_a_wrong_or_missing_credential_gets_401_in_the_products_words(
    pantry: Pantry, headers: dict[str, str]
) -> None:
    pantry.open()
    async with pantry.client() as agent:
        del agent.headers["authorization"]
        answers = [await agent.get(path, headers=headers) for path in ("/shelves/1", "/control/episodes", "/nowhere")]

    assert {answer.status_code for answer in answers} == {401}
    assert all("oops" in answer.json() for answer in answers)


async def test_a_closed_episode_answers_401_and_never_data(pantry: Pantry) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        pantry.episodes.close(episode)
        answer = await agent.get("/shelves/1")

    assert answer.status_code == 401


async def test_a_request_that_waited_while_its_episode_ended_is_refused(pantry: Pantry) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        async with episode.lock:
            waiting = asyncio.create_task(agent.patch("/shelves/1", json={"label": "late"}))
            await asyncio.sleep(0.01)
            pantry.episodes.close(episode)
        answer = await waiting

    assert answer.status_code == 401


async def test_a_refusal_takes_back_what_the_request_wrote(pantry: Pantry) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        refused = await agent.patch("/shelves/1", json={"label": "refuse me"})
        after = await agent.get("/shelves/1")

    assert refused.status_code == 404
    assert after.json()["label"] == "shelf 1"
    assert episode.world.changes() == []
    assert episode.broken is None


async def test_our_own_failure_is_a_500_without_its_secrets_and_breaks_the_episode(pantry: Pantry) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        broke = await agent.patch("/shelves/1", json={"label": "break me"})
        after = await agent.get("/shelves/1")

    assert broke.status_code == 500
    assert "hunter2" not in broke.text
    assert "Traceback" not in broke.text
    assert "ZeroDivisionError" in (episode.broken or "")
    assert "pantry.shelves.update" in (episode.broken or "")
    assert episode.broken_by_agent
    assert after.json()["label"] == "shelf 1"


async def test_what_falls_due_before_a_request_and_breaks_is_not_the_agents_doing(
    pantry: Pantry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(_: World) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(pantry.app, "product", replace(product, on_tick=stumble))
    episode = pantry.open()
    async with pantry.client() as agent:
        broke = await agent.get("/shelves/1")

    assert broke.status_code == 500
    assert "ZeroDivisionError" in (episode.broken or "")
    assert not episode.broken_by_agent


def test_the_first_breakdown_says_who_brought_it_about(pantry: Pantry) -> None:
    episode = pantry.open()
    episode.break_down("a request", by_agent=True)
    episode.break_down("what followed from it")

    assert (episode.broken, episode.broken_by_agent) == ("a request", True)


async def test_the_same_idempotency_key_returns_the_first_answer_and_changes_nothing(pantry: Pantry) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        first = await agent.post("/shelves", json={"label": "a"}, headers={"idempotency-key": "k1"})
        second = await agent.post("/shelves", json={"label": "a"}, headers={"idempotency-key": "k1"})

    assert (second.status_code, second.content, second.headers) == (first.status_code, first.content, first.headers)
    assert episode.world.revision == 1
    assert episode.steps == 1


async def test_concurrent_duplicates_are_done_once(pantry: Pantry) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        answers = await asyncio.gather(
            *(agent.post("/shelves", json={"label": "a"}, headers={"idempotency-key": "k"}) for _ in range(20))
        )

    assert len({answer.content for answer in answers}) == 1
    assert episode.world.revision == 1


async def test_a_key_used_for_another_request_is_refused(pantry: Pantry) -> None:
    pantry.open()
    async with pantry.client() as agent:
        await agent.post("/shelves", json={"label": "a"}, headers={"idempotency-key": "k1"})
        other = await agent.post("/shelves", json={"label": "b"}, headers={"idempotency-key": "k1"})

    assert other.status_code == 409


async def test_keys_of_one_episode_mean_nothing_in_another(pantry: Pantry) -> None:
    pantry.open("one")
    pantry.open("two")
    async with pantry.client("one") as one, pantry.client("two") as two:
        await one.patch("/shelves/1", json={"label": "mine"}, headers={"idempotency-key": "k"})
        other = await two.patch("/shelves/1", json={"label": "yours"}, headers={"idempotency-key": "k"})

    assert other.json()["label"] == "yours"


async def test_after_the_step_budget_the_credential_is_over(pantry: Pantry) -> None:
    pantry.open(steps=2)
    async with pantry.client() as agent:
        statuses = [(await agent.get("/shelves/1")).status_code for _ in range(4)]

    assert statuses == [200, 200, 401, 401]


async def test_requests_of_one_episode_are_served_in_order_and_atomically(pantry: Pantry) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        await asyncio.gather(*(agent.patch("/shelves/1", json={"label": f"v{n}"}) for n in range(50)))

    history = episode.world.history(shelves, 1)
    assert [change.revision for change in history] == list(range(1, 51))
    for before, after in itertools.pairwise(history):
        assert after.before == before.after


async def test_an_untouched_episode_is_overdue_and_a_touched_one_is_not(pantry: Pantry) -> None:
    pantry.open("one")
    idle = pantry.open("two")
    pantry.open("playground", leased=False)
    pantry.wall.now += 50
    async with pantry.client("one") as agent:
        await agent.get("/shelves/1")
    pantry.wall.now += 20

    assert pantry.episodes.overdue() == [idle]


async def test_no_episode_is_overdue_while_control_watches(pantry: Pantry) -> None:
    """An agent may work with other products for longer than a lease; control knows that, and this product does not."""
    idle = pantry.open("one")
    pantry.wall.now += 100
    harness = create_harness_api(ProductHost(product, pantry.episodes, pantry.telemetry), "token")
    transport, headers = httpx.ASGITransport(harness), {"authorization": "Bearer token"}
    async with httpx.AsyncClient(transport=transport, base_url="http://pantry", headers=headers) as control:
        assert (await control.get("/control/episodes")).status_code == 200
    pantry.wall.now += 50

    assert pantry.episodes.overdue() == []
    pantry.wall.now += 11
    assert pantry.episodes.overdue() == [idle]


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b"{", {}),
        (b'{"label": NaN}', {}),
        (b'{"label": "a", "weight": 1e999}', {}),
        (b'{"label": "a", "weight": Infinity}', {}),
        (b'{"label": "a", "surprise": 1}', {}),
        (b'{"label": ["a"]}', {}),
        (b'{"label": true}', {}),
        (b"[" * 4000, {}),
        (b"null", {}),
        (b"", {}),
        (b"\xff\xfe\x00", {}),
        (b'{"label": "' + b"x" * 60 + b'"}', {}),
        (b'{"label": "\\ud800"}', {}),
        (b'{"label": "a"}', {"idempotency-key": "k" * 300}),
        (b'{"label": "a"}', {"idempotency-key": ""}),
    ],
)
async def test_bad_input_is_a_clear_4xx_and_changes_nothing(
    pantry: Pantry, content: bytes, headers: dict[str, str]
) -> None:
    episode = pantry.open()
    async with pantry.client() as agent:
        answer = await agent.post("/shelves", content=content, headers={"content-type": "application/json", **headers})

    assert 400 <= answer.status_code < 500
    assert answer.json()["oops"]
    assert episode.world.changes() == []
    assert episode.broken is None


async def test_numbers_at_the_edge_of_floats_are_read(pantry: Pantry) -> None:
    pantry.open()
    async with pantry.client() as agent:
        answer = await agent.post(
            "/shelves", content=b'{"label": "a", "weight": 1e308}', headers={"content-type": "application/json"}
        )

    assert answer.status_code == 201


async def test_a_body_over_the_limit_is_refused_with_and_without_a_declared_length(pantry: Pantry) -> None:
    pantry.open()

    async def endless():
        for _ in range(10):
            yield b"x" * 1000

    async with pantry.client() as agent:
        declared = await agent.post("/shelves", content=b"x" * 5000)
        streamed = await agent.post("/shelves", content=endless())

    assert [declared.status_code, streamed.status_code] == [413, 413]


async def test_unknown_paths_and_methods_are_refused_in_the_products_words(pantry: Pantry) -> None:
    pantry.open()
    async with pantry.client() as agent:
        lost = await agent.get("/control/health")
        wrong = await agent.delete("/shelves/1")
        huge = await agent.get("/shelves/" + "9" * 400)

    assert [lost.status_code, wrong.status_code, huge.status_code] == [404, 405, 404]
    assert all("oops" in answer.json() for answer in (lost, wrong, huge))


def plan(monkeypatch: pytest.MonkeyPatch, kind: FaultKind, **rates: float) -> None:
    monkeypatch.setitem(PLANS, "certain", FaultRates(shares=((kind, 1.0),), longest_run=1, **rates))  # type: ignore[arg-type]


async def test_a_planned_429_speaks_first_and_says_when_to_come_back(
    pantry: Pantry, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(monkeypatch, FaultKind.RATE_LIMITED, retry_after=2)
    episode = pantry.open(faults="certain")
    async with pantry.client() as agent:
        headers = {"idempotency-key": "k"}
        limited = await agent.post("/shelves", json={"label": "a"}, headers=headers)
        retried = await agent.post("/shelves", json={"label": "a"}, headers=headers)

    assert (limited.status_code, limited.headers["retry-after"]) == (429, "2")
    assert retried.status_code == 201
    assert [fault.kind for fault in episode.faults] == ["rate_limited"]
    assert episode.broken is None
    assert [step.fault.kind if step.fault else None for step in episode.trajectory] == ["rate_limited", None]


async def test_a_timeout_after_commit_loses_the_answer_and_keeps_the_work(
    pantry: Pantry, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(monkeypatch, FaultKind.TIMEOUT_AFTER_COMMIT, timeout_seconds=0.01)
    episode = pantry.open(faults="certain")
    async with pantry.client() as agent:
        with pytest.raises(Dropped):
            await agent.post("/shelves", json={"label": "a"}, headers={"idempotency-key": "k"})
        retried = await agent.post("/shelves", json={"label": "a"}, headers={"idempotency-key": "k"})

    assert retried.status_code == 201
    assert episode.world.revision == 1


async def test_a_dropped_connection_has_done_nothing(pantry: Pantry, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(monkeypatch, FaultKind.DROPPED)
    episode = pantry.open(faults="certain")
    async with pantry.client() as agent:
        with pytest.raises(Dropped):
            await agent.post("/shelves", json={"label": "a"})

    assert episode.world.revision == 0


async def test_search_lag_is_counted_in_requests(pantry: Pantry) -> None:
    pantry.open(faults="lagging-search")
    async with pantry.client() as agent:
        await agent.patch("/shelves/1", json={"label": "jam"})
        seen = [(await agent.get("/search", params={"label": "jam"})).json() for _ in range(6)]
        by_id = (await agent.get("/shelves/1")).json()["label"]

    assert seen == [[], [], [], [], [1], [1]]
    assert by_id == "jam"


def test_fault_plans_are_seeded_and_never_strike_without_end() -> None:
    def strikes(name: str, seed: int) -> list[str | None]:
        faults = FaultPlan(name, seed, "pantry")
        return [fault.kind if (fault := faults.strike(n)) else None for n in range(1, 2001)]

    assert strikes("none", 1) == [None] * 2000
    assert strikes("storm", 1) == strikes("storm", 1)
    assert strikes("storm", 1) != strikes("storm", 2)
    assert 0.08 < sum(kind is not None for kind in strikes("rough", 5)) / 2000 < 0.2
    assert {kind for kind in strikes("storm", 3) if kind} == set(FaultKind)
    run = longest = 0
    for kind in strikes("storm", 4):
        run = run + 1 if kind else 0
        longest = max(longest, run)
    assert longest == PLANS["storm"].longest_run


def test_an_unknown_fault_plan_is_named() -> None:
    with pytest.raises(ValueError, match="rough"):
        FaultPlan("gentle", 1, "pantry")


async def test_openapi_is_open_and_tells_nothing_of_the_harness(pantry: Pantry) -> None:
    async with pantry.client() as agent:
        del agent.headers["authorization"]
        described = (await agent.get("/openapi.json")).text

    words = json.dumps(json.loads(described)).lower()
    assert not re.search(r"\b(control|episode|reward|mock|dayshift|faults?)\b", words)
    assert product.title.lower() in words


async def test_an_attempt_that_stands_keeps_its_traces_though_it_is_refused(pantry: Pantry) -> None:
    pantry.open()
    async with pantry.client() as agent:
        refused = await agent.patch("/shelves/1", json={"label": "try me"})
        after = await agent.get("/shelves/1")

    assert refused.status_code == 402
    assert after.json()["label"] == "try me"


async def test_a_route_may_take_the_rest_of_a_path_and_its_slashes() -> None:
    api = FastAPI()

    @api.get("/contents/{path:path}", operation_id="contents")
    async def contents(path: str) -> Response:
        return Response(path)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/contents/src/a b/c.py",
        "raw_path": b"/contents/src/a%20b/c.py",
        "query_string": b"",
        "headers": [],
    }
    answer = await Dispatch(api).answer(scope, b"")

    assert answer.body == b"src/a b/c.py"
