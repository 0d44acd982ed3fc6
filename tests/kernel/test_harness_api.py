"""The harness API plants, verifies and closes, for callers who hold its secret and nobody else."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from services.kernel.harness_api import create_harness_api
from services.kernel.product_host import ProductHost
from services.kernel.template import TemplateTouched
from tests.kernel.pantry import START_MS, Pantry, product

pytestmark = pytest.mark.anyio

OPENING: dict[str, Any] = {"episode_id": "e1", "credential": "pk_one_secret", "seed": 3, "world": "small"}


@pytest.fixture
def host(pantry: Pantry) -> ProductHost:
    return ProductHost(product, pantry.episodes, pantry.telemetry)


@pytest.fixture
async def control(host: ProductHost) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(create_harness_api(host, "harness-secret")),
        base_url="http://harness",
        headers={"authorization": "Bearer harness-secret"},
    ) as client:
        yield client


async def test_a_planted_row_is_there_but_not_in_the_diff(pantry: Pantry, control: httpx.AsyncClient) -> None:
    planted = [
        {"table": "shelves", "key": 900, "row": {"id": 900, "label": "planted", "contents": {}}},
        {"table": "tags", "key": "t1", "row": None},
    ]
    opened = await control.post("/control/episodes", json={**OPENING, "planted": planted, "counters": {"shelf": 900}})
    async with pantry.client() as agent:
        created = await agent.post("/shelves", json={"label": "mine"})
    diff = (await control.get("/control/episodes/e1/diff")).json()

    assert opened.status_code == 201
    assert created.json()["id"] == 901
    assert [change["id"] for change in diff["changes"]["net"]] == [901]


async def test_a_plant_that_does_not_fit_leaves_no_episode_behind(pantry: Pantry, control: httpx.AsyncClient) -> None:
    answer = await control.post(
        "/control/episodes", json={**OPENING, "planted": [{"table": "shelves", "key": 1, "row": {"id": 1}}]}
    )

    assert answer.status_code == 422
    assert len(pantry.episodes) == 0


async def test_checks_are_answered_with_reasons_and_exact_scores(control: httpx.AsyncClient) -> None:
    await control.post("/control/episodes", json=OPENING)
    asked = [{"name": "LabelIs", "arguments": {"shelf": 1, "label": label}} for label in ("shelf 1", "jam")]
    found = (await control.post("/control/episodes/e1/verify", json={"checks": asked})).json()["findings"]

    assert [(finding["score"], finding["held"]) for finding in found] == [("1", True), ("0", False)]
    assert all(finding["because"] for finding in found)


@pytest.mark.parametrize(
    ("address", "body", "status"),
    [
        ("/control/episodes", {**OPENING, "world": "nowhere"}, 422),
        ("/control/episodes", {**OPENING, "faults": "gentle"}, 422),
        ("/control/episodes", {**OPENING, "surprise": 1}, 422),
        ("/control/episodes/none/verify", {"checks": []}, 404),
        ("/control/episodes/none/close", {}, 404),
    ],
)
async def test_a_wrong_message_is_explained(
    control: httpx.AsyncClient, address: str, body: dict[str, Any], status: int
) -> None:
    answer = await control.post(address, json=body)

    assert answer.status_code == status


async def test_an_unknown_check_is_named(control: httpx.AsyncClient) -> None:
    await control.post("/control/episodes", json=OPENING)
    answer = await control.post("/control/episodes/e1/verify", json={"checks": [{"name": "IsHappy"}]})

    assert answer.status_code == 422
    assert "LabelIs" in answer.json()["message"]


async def test_advancing_moves_the_clock_and_never_back(control: httpx.AsyncClient) -> None:
    await control.post("/control/episodes", json=OPENING)
    later = (await control.post("/control/episodes/e1/advance", json={"to_ms": START_MS + 3_600_000})).json()
    earlier = (await control.post("/control/episodes/e1/advance", json={"to_ms": START_MS})).json()

    assert later["clock_ms"] == earlier["clock_ms"] == START_MS + 3_600_000


async def test_closing_hands_over_the_trajectory(pantry: Pantry, control: httpx.AsyncClient) -> None:
    await control.post("/control/episodes", json=OPENING)
    async with pantry.client() as agent:
        await agent.patch("/shelves/1", json={"label": "jam"})
    farewell = (await control.post("/control/episodes/e1/close")).json()
    gone = await control.get("/control/episodes/e1")

    [step] = farewell["trajectory"]
    assert (step["operation"], step["status"], step["revision"]) == ("pantry.shelves.update", 200, 1)
    assert step["request"] == '{"label":"jam"}'
    assert gone.status_code == 404


@pytest.mark.parametrize(
    "token", ["", "Bearer ", "Bearer harness-secre", "Bearer pk_one_secret", "Basic harness-secret"]
)
async def test_without_the_secret_nothing_is_told(control: httpx.AsyncClient, token: str) -> None:
    await control.post("/control/episodes", json=OPENING)
    paths = ("/control/episodes", "/control/episodes/e1", "/metrics", "/nowhere", "/control/../metrics")
    answers = [await control.get(path, headers={"authorization": token}) for path in paths]

    assert {(answer.status_code, answer.content) for answer in answers} == {(401, b"")}


async def test_a_touched_template_is_fatal_for_the_service(
    pantry: Pantry, host: ProductHost, control: httpx.AsyncClient
) -> None:
    await control.post("/control/episodes", json=OPENING)
    template = pantry.episodes.worlds.forks_of("small").template
    template._counter = b"\0\0\0\0"
    with pytest.raises(TemplateTouched):
        await control.post("/control/episodes/e1/close")
    health = await control.get("/health")

    assert health.status_code == 503
    assert "written to" in health.json()["because"]


async def test_metrics_count_requests_forks_faults_and_losses(pantry: Pantry, control: httpx.AsyncClient) -> None:
    await control.post("/control/episodes", json=OPENING)
    async with pantry.client() as agent:
        await agent.get("/shelves/1")
        await agent.patch("/shelves/1", json={"label": "break me"})
    exposed = (await control.get("/metrics")).text

    assert 'dayshift_requests_total{operation="pantry.shelves.get",status="200"} 1.0' in exposed
    assert "dayshift_episodes_unscored_total 1.0" in exposed
    assert "dayshift_open_forks 1.0" in exposed
