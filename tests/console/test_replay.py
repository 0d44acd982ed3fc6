"""Recorded episodes in the console: read, reviewed, served again byte for byte, and opened at any state."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from dayshift.calls import WAIT
from dayshift.cli import main
from dayshift.connection import Connection
from dayshift.episode import Episode
from dayshift.recorder import Recorder
from dayshift.trajectory import Trajectory

from services.console.link import ControlLink
from services.console.replay import Replayer, ReplayResult
from tests.console.conftest import APPROVED_TASK, Console, ask_for_refund, find_ticket
from tests.control.stack import TOKEN, Stack, eventually

Open = Callable[..., Episode]


@pytest.fixture(scope="module")
def played(console: Console, connection: object) -> str:
    """An episode over two products with a wait in it."""
    with Episode.open("desk/double-charge", seed=4, world="small", connection=connection) as episode:  # type: ignore[arg-type]
        found = find_ticket(episode)
        episode.step("desk.tickets.list")
        episode.step("billing.customers.list", limit=2)
        note = {"comment": {"body": "I am looking into it.", "public": False}}
        assert episode.step("desk.tickets.update", ticket_id=found, ticket=note).status == 200
        episode.wait(3)
        episode.step("billing.charges.list", limit=1)
        episode.step("desk.tickets.show", ticket_id=found)
        episode.submit()
    console.await_recorded(episode.id)
    return episode.id


def test_the_ledgers_episode_has_its_steps_waits_rows_and_verdict(console: Console, played: str) -> None:
    detail = console.get(f"episodes/{played}")

    operations = [head["operation"] for head in detail["heads"]]
    assert operations == [
        "desk.tickets.list",
        "billing.customers.list",
        "desk.tickets.update",
        WAIT,
        "billing.charges.list",
        "desk.tickets.show",
    ]
    assert detail["heads"][2]["changes"]["agent"] >= 1
    assert detail["waterfall"] is not None
    assert detail["summary"]["family"] == "desk/double-charge"


def test_every_byte_is_the_same_when_it_is_served_again(console: Console, played: str) -> None:
    result = console.do(f"episodes/{played}/replay", {"step": 6})

    assert result["difference"] is None
    assert result["identical"]
    assert result["compared_bytes"] > 100


def test_a_recording_that_is_not_what_happened_shows_its_first_difference(console: Console, played: str) -> None:
    stored = next((console.stack.var / "console").rglob("trajectories.jsonl")).read_text().splitlines()
    true = next(each for each in map(Trajectory.model_validate_json, stored) if each.manifest.episode_id == played)
    forged_step = true.steps[1].model_copy(update={"answer": true.steps[1].answer.replace('"', "'", 1)})
    forged = true.model_copy(update={"steps": [true.steps[0], forged_step, *true.steps[2:]]})

    async def replay() -> ReplayResult:
        link = ControlLink(f"http://127.0.0.1:{console.stack.base}", TOKEN)
        try:
            return await Replayer(link).replay(forged, 6)
        finally:
            await link.close()

    result = asyncio.run(replay())

    assert not result["identical"]
    assert result["difference"] is not None
    assert (result["difference"]["step"], result["difference"]["what"]) == (2, "the answer")


def test_an_episode_opens_at_the_state_after_a_step(console: Console, played: str) -> None:
    opened = console.do(f"episodes/{played}/playground", {"step": 3})

    assert opened["identical"]
    desk = opened["products"]["desk"]
    answer = httpx.get(
        f"{desk['base_url']}/api/v2/tickets.json", headers={"authorization": f"Bearer {desk['credential']}"}
    )
    assert answer.status_code == 200
    assert any(each["episode_id"] == opened["episode_id"] for each in console.get("live")["episodes"])
    console.do(f"live/{opened['episode_id']}/close")


@pytest.mark.parametrize("step", [-1, 7, "two", 1.5])
def test_a_step_that_is_not_there_is_refused(console: Console, played: str, step: object) -> None:
    assert console.post(f"episodes/{played}/replay", {"step": step}).status_code == 400


def test_a_step_is_copied_as_curl_and_for_the_sdk_without_a_credential(console: Console, played: str) -> None:
    curl = console.get(f"episodes/{played}/steps/3/snippet", form="curl")["text"]
    sdk = console.get(f"episodes/{played}/steps/3/snippet", form="sdk")["text"]

    assert curl.startswith("curl -sS -X PUT http://127.0.0.1")
    assert '"Authorization: Bearer $CREDENTIAL"' in curl
    assert "I am looking into it." in curl
    compile(sdk, "snippet", "exec")
    assert "Episode.open('desk/double-charge', seed=4" in sdk
    assert console.client.get(f"/api/episodes/{played}/steps/3/snippet?form=x").status_code == 400


def test_a_review_is_kept_in_the_ledger_under_the_signed_in_name(console: Console, played: str) -> None:
    saved = console.do("reviews", {"key": played, "labels": ["incomplete"], "blame": "harness", "reviewer": "Mallory"})

    assert saved["reviewer"] == "Ada"
    reviews = console.get("reviews", key=played)["reviews"]
    assert [(each["reviewer"], each["blame"]) for each in reviews] == [("Ada", "harness")]
    assert console.get("episodes", label="incomplete")["total"] == 1
    assert console.post("reviews", {"key": "nobody", "blame": "model"}).status_code == 404


def test_an_export_leaves_out_what_the_console_blames_on_the_harness(
    console: Console, stack: Stack, open_episode: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", TOKEN)
    with Recorder(tmp_path / "run") as recorder:
        for number in range(2):
            episode = open_episode(seed=20 + number)
            episode.step("crm.contacts.list", limit=1)
            assert episode.submit().outcome == "failed"
            recorder.record(episode.trajectory())
    console.await_recorded(episode.id)
    console.do("reviews", {"key": episode.id, "labels": ["product-bug"], "blame": "harness"})
    output = tmp_path / "rows.jsonl"
    url = ["--control-url", f"http://127.0.0.1:{stack.base}"]

    options = ["--form", "reinforcement", "--world", "small", "--output", str(output)]
    assert main([*url, "export", str(tmp_path / "run"), *options]) == 0

    (row,) = map(json.loads, output.read_text().splitlines())
    assert row["grader"]["open"]["seed"] == 20
    console.do("reviews", {"key": episode.id})
    assert main([*url, "export", str(tmp_path / "run"), *options]) == 0
    assert len(output.read_text().splitlines()) == 2


def test_policies_and_versions_are_filters_of_the_ledger_and_invisible_to_the_agent(
    console: Console, connection: Connection
) -> None:
    seen, opened = [], []
    for labels in ({}, {"policy": "zebra-policy", "policy_version": "step-77"}):
        episode = Episode.open("crm/correct-contact", seed=23, world="small", connection=connection, **labels)
        with episode:
            answers = [episode.step("crm.contacts.list", limit=3).text, episode.step("crm.owners.list").text]
            seen.append([episode.brief, episode.protocol.opened.fingerprint, *answers])
            access = episode.products["crm"]
            told = httpx.get(access.openapi_url).text + repr(
                connection.run(connection.address.control.state(episode.id))
            )
            assert "zebra" not in told
            assert "step-77" not in told
            episode.submit()
        opened.append(episode.id)

    assert seen[0] == seen[1]
    summary = console.await_recorded(opened[1])["summary"]
    assert (summary["policy"], summary["version"]) == ("zebra-policy", "step-77")
    rows = console.get("episodes", policy="zebra-policy", version="step-77")["rows"]
    assert [row["key"] for row in rows] == [opened[1]]
    versions = console.get("dashboard")["dashboard"]["versions"]
    assert ("zebra-policy", "step-77") in {(row["policy"], row["version"]) for row in versions}


def test_the_teams_taxonomy_is_kept_in_the_ledger(console: Console) -> None:
    taxonomy = console.get("reviews")["taxonomy"]
    taxonomy["labels"].append({"id": "too-slow", "title": "Too slow", "blame": None, "description": ""})

    answer = console.client.put("/api/taxonomy", json=taxonomy, headers={"x-csrf-token": console.csrf})

    assert answer.status_code == 200
    assert console.get("reviews")["taxonomy"]["labels"][-1]["id"] == "too-slow"


def test_the_search_reads_briefs_and_answers_of_the_ledger(console: Console, open_episode: Open) -> None:
    episode = open_episode(APPROVED_TASK, seed=5)
    ask_for_refund(episode)
    episode.close()
    console.await_recorded(episode.id)

    # What can be searched is written a moment after the episode itself.
    eventually(lambda: console.get("episodes", q="approve the refund")["total"] >= 1)
    assert console.get("dashboard")["dashboard"]["overall"]["episodes"] >= 1
