"""Tests of the compose stack as its users run it."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from dayshift import Episode
from dayshift.connection import Address, Connection
from dayshift.errors import Unscored
from dayshift.wire import Verdict
from hubspot import HubSpot
from hubspot.crm.contacts import SimplePublicObjectInputForCreate

from services.kernel import catalog
from tests.e2e.engine import PLAYGROUND, ROOT, TOKEN, Composed, require_engine
from tests.scripted_provider import ScriptedProvider
from tests.walkthrough import Reader, ReadmeReader, check_readme, check_tutorial

pytestmark = pytest.mark.compose
_OURS = ("control", "console", "mcp", *catalog.names())
_CONTACTS = "/crm/v3/objects/contacts"
_READS: dict[str, tuple[str, dict[str, int]]] = {
    "crm": ("crm.contacts.list", {"limit": 3}),
    "desk": ("desk.users.me", {}),
    "billing": ("billing.customers.list", {"limit": 3}),
    "ide": ("ide.users.me", {}),
}


@pytest.fixture(scope="module")
def stack() -> Iterator[Composed]:
    require_engine()
    composed = Composed()
    try:
        composed.start()
        yield composed
    finally:
        composed.stop()


def _agent(opened: dict[str, object], product: str = "crm") -> httpx.Client:
    access = opened["products"][product]  # type: ignore[index]
    return httpx.Client(
        base_url=access["base_url"], headers={"authorization": f"Bearer {access['credential']}"}, timeout=120
    )


def test_every_service_is_healthy_and_reachable_from_this_machine_alone(stack: Composed) -> None:
    for service in (*_OURS, "postgres", "redis"):
        (container,) = stack.containers(service)
        # The engine looks every five seconds; control answered just now for the first time, and mcp starts after it.
        stack.eventually(lambda name=container: stack.inspect(name)["State"]["Health"]["Status"] == "healthy", 60)
        inspected = stack.inspect(container)

        bound = [port for ports in (inspected["HostConfig"]["PortBindings"] or {}).values() for port in ports]
        assert {binding["HostIp"] for binding in bound} <= {"127.0.0.1"}, service
        assert inspected["HostConfig"]["Memory"] > 0, service


def test_our_services_run_without_root_on_a_file_system_they_cannot_write(stack: Composed) -> None:
    for service in _OURS:
        (container,) = stack.containers(service)
        inspected = stack.inspect(container)

        assert inspected["HostConfig"]["ReadonlyRootfs"], service
        assert stack.run_in(container, "id", "-u").stdout.strip() == "10001", service
        assert stack.run_in(container, "touch", "/opt/dayshift/x").returncode != 0, service


def test_the_vendors_own_client_works_at_the_playground(stack: Composed) -> None:
    hubspot = HubSpot(access_token=PLAYGROUND, host=f"http://127.0.0.1:{stack.base + 1}")
    new = SimplePublicObjectInputForCreate(properties={"email": "ida.kron@corvane.eu", "firstname": "Ida"})

    created = hubspot.crm.contacts.basic_api.create(new)
    page = hubspot.crm.contacts.basic_api.get_page(limit=5)

    assert hubspot.crm.contacts.basic_api.get_by_id(created.id).properties["firstname"] == "Ida"
    assert len(page.results) == 5


@pytest.mark.parametrize("product", catalog.names())
def test_a_whole_episode_of_each_product_ends_in_a_verdict(stack: Composed, product: str) -> None:
    families = stack.control.get("/v1/tasks", params={"product": product, "split": "train"}).json()["families"]
    task = families[0]["id"] if families else None
    with (
        Connection(Address(stack.url, TOKEN)) as connection,
        Episode.open(task, seed=3, world="small", connection=connection) as episode,
    ):
        operation, arguments = _READS[product]
        assert episode.step(operation, **arguments).status == 200
        verdict = _verdict(episode)

    # A product without a family yet has free play alone, which is never scored.
    assert verdict.outcome in (("passed", "failed") if families else ("unscored",))
    assert bool(verdict.findings) == bool(families)
    assert stack.control.get(f"/v1/episodes/{episode.id}/trajectory").json()["steps"]


@pytest.mark.parametrize("endpoint", ["mcp", "product"])
def test_an_mcp_client_works_from_this_machine(stack: Composed, endpoint: str) -> None:
    opened = stack.open(seed=5)
    access = opened["mcp"] if endpoint == "mcp" else opened["products"]["crm"]
    url = access["url"] if endpoint == "mcp" else f"{access['base_url']}/mcp"
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "crm_contacts_search", "arguments": {"limit": 3}},
    }
    headers = {"authorization": f"Bearer {access['credential']}", "mcp-protocol-version": "2025-11-25"}

    answer = httpx.post(url, json=message, headers={**headers, "accept": "application/json"}, timeout=120)

    assert answer.json()["result"]["isError"] is False, answer.text


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    started = ScriptedProvider().start()
    yield started
    started.stop()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a reader has beside the image: the client, and the folder of tasks that control can read."""
    folder = tmp_path / "dayshift"
    for name in ("env_client", "fixtures/tasks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("compose.yaml", "compose.tasks.yaml"):
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def test_the_readme_can_be_followed_in_a_fresh_folder_without_a_token(
    stack: Composed, clone: Path, provider: ScriptedProvider, tmp_path: Path
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    models = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{provider.url}/v1"}
    reader = Reader(folder, clone, {**_settings(stack, tmp_path), **models}, start=lambda: None)

    output = ReadmeReader(reader, stack.base, PLAYGROUND, provider.url).follow((ROOT / "README.md").read_text())

    check_readme(output)


def test_the_tutorial_can_be_followed_in_a_fresh_folder_without_a_token(
    stack: Composed, clone: Path, tmp_path: Path
) -> None:
    def compose(block: str) -> str:
        commands = [line.removeprefix("docker compose ") for line in block.splitlines() if line.startswith("docker")]
        output = "".join(stack(*shlex.split(command), folder=clone) for command in commands)
        stack.await_health()
        return output

    reader = Reader(tmp_path, clone, _settings(stack, tmp_path), start=lambda: None, compose=compose)
    try:
        output = reader.follow((ROOT / "docs" / "tutorial.md").read_text())
    finally:
        # The other tests of this module have the tasks of the image.
        stack("up", "-d", "--no-deps", "control")
        stack.await_health()

    check_tutorial(output)


def _settings(stack: Composed, home: Path) -> dict[str, str]:
    """Only the ports of this run are told: other stacks may stand at the usual ones."""
    return {
        "DAYSHIFT_CONTROL_URL": stack.url,
        "XDG_STATE_HOME": str(home / "state"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",
    }


def _verdict(episode: Episode) -> Verdict:
    try:
        return episode.submit()
    except Unscored as unscored:
        return unscored.verdict


def test_episodes_of_a_killed_service_are_unscored_and_new_ones_work_after_its_restart(stack: Composed) -> None:
    lost = stack.open(seed=1)
    stack("kill", "crm")

    stack.eventually(lambda: _state(stack, lost).get("outcome") == "unscored", 90)
    assert "crm" in _state(stack, lost)["because"]
    assert stack.control.get("/health").status_code == 503

    stack("start", "crm")
    stack.await_health()
    with _agent(stack.open(seed=2)) as agent:
        assert agent.get(_CONTACTS).status_code == 200


def test_the_record_outlives_a_restart_of_the_database(stack: Composed) -> None:
    opened = stack.open(seed=4)
    stack.control.post(f"/v1/episodes/{opened['episode_id']}/submit", json={})

    stack("restart", "-t", "5", "postgres", "redis")
    stack.await_health()

    assert _state(stack, opened)["because"] == "free play"


def test_two_replicas_share_the_episodes_and_keep_them_apart(stack: Composed) -> None:
    stack("up", "-d", "--no-recreate", "--scale", "crm=2", "crm")
    opened: list[dict[str, object]] = []

    def are_spread() -> bool:
        opened.append(stack.open(seed=len(opened)))
        return len({_address(episode) for episode in opened}) == 2

    stack.eventually(are_spread, 90)
    first = opened[-1]
    other = next(candidate for candidate in opened if _address(candidate) != _address(first))
    with _agent(first) as agent, _agent(other) as another:
        person = agent.get(_CONTACTS, params={"limit": 1}).json()["results"][0]["id"]
        agent.patch(f"{_CONTACTS}/{person}", json={"properties": {"jobtitle": "Only here"}}).raise_for_status()
        astray = httpx.get(f"{another.base_url}{_CONTACTS}", headers={"authorization": agent.headers["authorization"]})
        there = another.get(f"{_CONTACTS}/{person}", params={"properties": "jobtitle"}).json()

    assert astray.status_code == 401
    assert astray.json()["category"] == "INVALID_AUTHENTICATION"
    assert there["properties"].get("jobtitle") != "Only here"
    stack("up", "-d", "--no-recreate", "--scale", "crm=1", "crm")


def test_a_short_load_meets_no_error_and_no_stale_read(stack: Composed) -> None:
    stack.await_health()
    command = [sys.executable, "-m", "loadtests", "run", "--compose", "--url", stack.url, "--token", TOKEN]
    arguments = ["--seconds", "10", "--qps", "100", "--users", "20", "--world", "small"]

    done = subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env=stack.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def _state(stack: Composed, opened: dict[str, object]) -> dict[str, str]:
    state: dict[str, str] = stack.control.get(f"/v1/episodes/{opened['episode_id']}").json()
    return state


def _address(opened: dict[str, object]) -> str:
    address: str = opened["products"]["crm"]["base_url"]  # type: ignore[index]
    return address
