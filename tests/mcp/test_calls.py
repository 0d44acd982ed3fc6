"""A call through MCP is the call that a plain HTTP client makes: the same request, steps, faults, record and answer."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from dayshift.connection import Address, AsyncConnection, Connection
from dayshift.episode import AsyncEpisode, Episode
from dayshift.wire import TrajectoryStep

from tests.control.stack import TASK
from tests.mcp.agents import REVISIONS, Endpoint, Revision, call, connect, office, product

pytestmark = pytest.mark.anyio
ENDPOINTS: dict[str, Callable[[Any], Endpoint]] = {"product": product, "office": office}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("crm_contacts_search", {"limit": 2, "properties": ["email", "phone"]}),
    ("crm.contacts.list", {"limit": 3}),
    ("crm_contacts_get", {"contactId": "999999999"}),
    ("call_operation", {"operation": "crm.contacts.create", "arguments": {"properties": {"email": "a@corvane.eu"}}}),
    ("crm_contacts_create", {"properties": {"email": "a@corvane.eu"}}),
    ("crm_contacts_update", {"contactId": "x/../y", "properties": {}}),
    ("crm_contacts_search", {"limit": "many"}),
]


def comparable(step: TrajectoryStep) -> dict[str, Any]:
    """A step without what differs between two runs of the same program."""
    return step.model_dump(exclude={"milliseconds", "key"})


async def work(client: Any) -> list[tuple[bool, str]]:
    return [await call(client, tool, **arguments) for tool, arguments in CALLS]


async def work_plainly(episode: AsyncEpisode) -> list[tuple[bool, str]]:
    steps = [await episode.act({"operation": tool, "arguments": arguments}) for tool, arguments in CALLS]
    return [(step.refused, episode.surface.read(step)) for step in steps]


@pytest.mark.parametrize("kind", ENDPOINTS)
@pytest.mark.parametrize("revision", REVISIONS)
async def test_calls_are_answered_and_recorded_as_plain_ones(address: Address, kind: str, revision: Revision) -> None:
    async with AsyncConnection(address) as connection:
        async with await AsyncEpisode.open(TASK, seed=7, connection=connection) as plain:
            expected = await work_plainly(plain)
            trajectory = await connection.run(plain.protocol.control.trajectory(plain.id))
        async with await AsyncEpisode.open(TASK, seed=7, connection=connection) as other:
            async with connect(ENDPOINTS[kind](other), revision) as client:
                answers = await work(client)
            own = await connection.run(other.protocol.control.trajectory(other.id))

    assert answers == expected
    assert list(map(comparable, own.steps)) == list(map(comparable, trajectory.steps))
    assert len(own.steps) == len(CALLS)


@pytest.mark.parametrize("kind", ENDPOINTS)
async def test_planned_faults_strike_as_they_strike_plain_calls(address: Address, kind: str) -> None:
    """Among forty calls in a storm there are delays, refusals and cut connections."""
    many = [("crm.contacts.list", {"limit": 1})] * 20
    async with AsyncConnection(address) as connection:
        options: Any = {"seed": 3, "faults": "storm", "connection": connection}
        async with await AsyncEpisode.open(TASK, **options) as plain:
            steps = [await plain.act({"operation": name, "arguments": arguments}) for name, arguments in many]
            expected = [(step.refused, plain.surface.read(step)) for step in steps]
        async with await AsyncEpisode.open(TASK, **options) as other, connect(ENDPOINTS[kind](other)) as client:
            answers = [await call(client, name, **arguments) for name, arguments in many]

    assert answers == expected
    assert any(text == "error: The connection was closed before an answer came." for _, text in answers)
    assert any(text.startswith("429: ") for _, text in answers)


async def test_a_long_answer_is_shortened_as_elsewhere(address: Address) -> None:
    async with (
        AsyncConnection(address) as connection,
        await AsyncEpisode.open(None, connection=connection, max_answer_chars=900) as episode,
        connect(product(episode).choose(max_answer_chars=900)) as client,
    ):
        plain = await episode.surface.call(episode, "crm.contacts.list", {"limit": 100})
        _, text = await call(client, "crm.contacts.list", limit=100)

    assert len(text) <= 900
    assert text == plain


@pytest.mark.parametrize("kind", ENDPOINTS)
async def test_the_agent_finishes_and_the_trainer_reads_the_verdict(address: Address, kind: str) -> None:
    with Connection(address) as connection, Episode.open(TASK, seed=7, connection=connection) as episode:
        async with connect(ENDPOINTS[kind](episode)) as client:
            contacts = json.loads((await call(client, "crm_contacts_search", limit=5))[1])["results"]
            done = await call(client, "finish_work")
            afterwards = await call(
                client, "crm_contacts_update", contactId=contacts[0]["id"], properties={"phone": ""}
            )
            listed = await client.list_tools()
        verdict = episode.submit()

    assert done == (False, "Done.")
    assert afterwards == (True, "Your work is done. Nothing can be changed any more.")
    assert listed.tools
    assert verdict.outcome == "failed"
    assert not [row for row in verdict.findings if row.held]


@pytest.mark.parametrize("kind", ENDPOINTS)
async def test_time_passes_for_an_agent_that_comes_back_later(address: Address, kind: str) -> None:
    with Connection(address) as connection, Episode.open(None, connection=connection) as episode:
        async with connect(ENDPOINTS[kind](episode)) as client:
            came_back = await call(client, "come_back_later", hours=5)
            malformed = await call(client, "come_back_later", hours=-1)
        state = connection.run(episode.protocol.control.state(episode.id))

    assert json.loads(came_back[1]) == {"time": state.clock, "news": ["Nothing new came in."]}
    assert malformed[0]
    assert malformed[1].startswith("error: come_back_later takes hours")


async def test_the_products_of_an_office_have_one_clock(address: Address) -> None:
    """Three requests to one product, then one to the other, which is then four ticks on."""
    with Connection(address) as connection, Episode.open(None, connection=connection) as episode:
        async with connect(office(episode)) as client:
            for tool in ("crm_contacts_search", "crm_contacts_search", "crm_contacts_search", "billing_customers_list"):
                assert not (await call(client, tool, limit=1))[0]
        steps = connection.run(episode.protocol.control.trajectory(episode.id)).steps

    assert [step.product for step in steps] == ["crm", "crm", "crm", "billing"]
    assert [step.clock for step in steps] == sorted({step.clock for step in steps})


async def test_a_credential_opens_nothing_beyond_its_products(address: Address) -> None:
    """The CRM's credential at the endpoint for all shows the CRM alone; another product's own endpoint refuses it."""
    with Connection(address) as connection, Episode.open(None, connection=connection) as episode:
        crm_only = Endpoint(office(episode).url, episode.products["crm"].credential)
        async with connect(crm_only) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            refused = await call(client, "billing_customers_list", limit=1)

    assert not [name for name in names if name.startswith("billing")]
    assert refused[0]
    assert refused[1].startswith("error: there is no operation")
