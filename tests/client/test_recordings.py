"""What is recorded can be read, replayed, added up and handed on."""

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import dayshift
import pytest
from dayshift.connection import Address, Connection
from dayshift.discovery import discover
from dayshift.export import chat_rows, reinforcement_rows, write_rows
from dayshift.minari_export import export_minari
from dayshift.recorder import EPISODES_TABLE, QUARANTINED, SCORED, STEPS_TABLE
from dayshift.recordings import load, read
from dayshift.report import likely_share, summarise
from dayshift.report_html import as_html
from dayshift.report_text import as_text
from dayshift.rollout import Situation, do_nothing
from dayshift.trajectory import SCHEMA, Quarantine, Trajectory, bytes_of, text_of
from dayshift.wire import Flag

from tests.client.tricks import diligent
from tests.control.stack import TASK


def careless(situation: Situation) -> dayshift.Call | dict[str, Any]:
    """Solves the task, makes mistakes on the way, and leaves a stray contact behind."""
    made = len(situation.history)
    if made == 0:
        return {"operation": "crm.contacts.frobnicate", "arguments": "{"}
    if made == 1:
        return dayshift.call("crm.contacts.get", contactId="999999")
    if made == 2:
        return dayshift.call("crm.contacts.create", properties={"lastname": "Ünbidden 😀"})
    rest = situation.history[3:]
    return diligent(Situation(**{name: getattr(situation, name) for name in Situation.__slots__} | {"history": rest}))


@pytest.fixture
def folder(address: Address, tmp_path: Path) -> Path:
    async def fill(recorder: dayshift.Recorder) -> None:
        for policy in (diligent, careless, do_nothing):
            tasks = list(dayshift.tasks(TASK, seeds=range(4)))
            async for _ in dayshift.rollouts(policy, tasks, recorder=recorder, version="v1", progress=False):
                pass

    with dayshift.Recorder(tmp_path, parquet=True) as recorder:
        asyncio.run(fill(recorder))
        recorder.record(quarantined(next(load(tmp_path))))
    return tmp_path


def quarantined(one: Trajectory) -> Trajectory:
    why = Quarantine(blame="harness", kind="StaleRead", because="crm answered from the past")
    return one.model_copy(update={"verdict": None, "quarantine": why})


def test_a_line_holds_a_whole_episode(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / SCORED).read_text().splitlines()]

    assert len(lines) == 12
    for line in lines:
        manifest = line["manifest"]
        assert manifest["schema_version"] == SCHEMA
        assert manifest["open"]["task"] == TASK
        assert len(manifest["fingerprint"]) == len(manifest["action_space"]) == 64
        assert set(manifest["versions"]) == {"dayshift", "gymnasium", "httpx", "python"}
        assert line["verdict"]["findings"]
        assert line["cost"]["calls"] == sum(bool(step["method"]) for step in line["steps"])
    assert Trajectory.model_validate(lines[0]).model_dump(mode="json") == lines[0]


def test_what_has_no_reward_is_filed_apart_and_passed_over(folder: Path) -> None:
    assert len(list(read(folder / QUARANTINED))) == 1
    assert all(one.scored for one in load(folder))
    assert len(list(load(folder, quarantined=True))) == 13


def test_the_tables_say_the_same_as_the_lines(folder: Path) -> None:
    import pyarrow.parquet as pq

    recorded = {one.manifest.episode_id: one for one in load(folder)}
    episodes = pq.read_table(folder / EPISODES_TABLE).to_pylist()
    steps = pq.read_table(folder / STEPS_TABLE).to_pylist()

    assert pq.read_schema(folder / EPISODES_TABLE).metadata[b"schema"] == SCHEMA.encode()
    assert {row["episode_id"]: row["reward"] for row in episodes} == {key: one.reward for key, one in recorded.items()}
    assert len(steps) == sum(len(one.steps) for one in recorded.values())
    for row in steps:
        step = recorded[row["episode_id"]].steps[row["number"] - 1]
        assert (row["answer"], json.loads(row["arguments"]), row["revision"]) == (
            step.answer,
            step.arguments,
            step.revision,
        )


def test_a_line_torn_by_a_crash_loses_itself_alone(folder: Path) -> None:
    whole = (folder / SCORED).read_bytes()
    (folder / SCORED).write_bytes(whole[:-100])

    assert len(list(read(folder / SCORED))) == 11


def test_a_broken_line_in_the_middle_is_not_passed_over(folder: Path) -> None:
    (folder / SCORED).write_text('{"no": "trajectory"}\n' + (folder / SCORED).read_text())

    with pytest.raises(dayshift.Misuse, match=f"{SCORED}:1"):
        list(read(folder / SCORED))


def test_bodies_survive_whatever_they_are() -> None:
    for content in (b"plain", "ünïcode".encode(), b"\xff\x00\xfe", b"base64:not really", b""):
        assert bytes_of(text_of(content)) == content


def test_every_recorded_episode_replays_to_the_byte(folder: Path, connection: Connection) -> None:
    proofs = [dayshift.verify(one, connection) for one in load(folder)]

    assert [proof.difference for proof in proofs] == [None] * 12
    assert all(proof.steps >= 1 for proof in proofs)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda one: _with_step(one, 0, answer='{"results":[]}'), "the answer"),
        (lambda one: _with_step(one, 0, revision=99), "the revision"),
        (lambda one: _with_step(one, 0, status=418), "the status"),
        (lambda one: _with_verdict(one, reward=math.nextafter(one.reward, 0)), "the verdict"),
        (lambda one: _with_manifest(one, fingerprint="0" * 64), "the fingerprint of the worlds"),
        (lambda one: _with_manifest(one, brief="Another one."), "the brief"),
        (lambda one: _with_manifest(one, action_space="0" * 64), "the action space"),
    ],
)
def test_the_first_difference_is_shown(folder: Path, connection: Connection, change: Any, what: str) -> None:
    one = next(one for one in load(folder) if one.policy == "diligent")

    proof = dayshift.verify(change(one), connection)

    assert proof.difference is not None
    assert proof.difference.what == what
    assert proof.difference.recorded != proof.difference.replayed


def test_a_grader_pays_what_the_recorded_episode_was_paid(folder: Path, connection: Connection) -> None:
    for one in list(load(folder))[::3]:
        calls = [{"operation": step.operation, "arguments": step.arguments} for step in one.steps]

        assert dayshift.grade(one.manifest.open.model_dump(), calls, connection).reward == one.reward


def test_the_report_adds_up(folder: Path) -> None:
    summary = summarise(load(folder, quarantined=True))
    text = as_text(summary)

    assert summary.episodes == 13 == sum(summary.endings.values()) == sum(summary.failures.values())
    assert summary.endings == {"passed": 4, "failed": 8, "quarantined": 1}
    assert summary.failures == {"passed": 4, "agent: harm done": 4, "agent: did nothing": 4, "harness: StaleRead": 1}
    assert sum(summary.rewards.counts) == 12
    means = {row.policy: row.mean_reward for row in summary.rows}
    assert means["diligent"] > means["careless"] > means["do_nothing"] == 0.0
    assert summary.mean_reward == fmean(one.reward for one in load(folder))
    assert summary.components["RecordReads"] == (8 / 12, 12)
    assert {one.policy: (one.judged, one.passed) for one in summary.standings} == {
        "careless": (4, 0),
        "diligent": (4, 4),
        "do_nothing": (4, 0),
    }
    assert all(one.mean_reward == pytest.approx(means[one.policy]) for one in summary.standings)
    assert "diligent    1         4       4       100.0%  51.0% – 100.0%" in text
    assert summary.failure_rate == 1 / 13 > 0.05
    assert "7.69% (1 of 13), ABOVE the 5% line" in text
    assert not summary.trustworthy


def test_the_interval_of_a_share_is_wilsons() -> None:
    assert likely_share(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert likely_share(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert likely_share(1, 1)[1] == 1.0


def test_what_an_episode_asks_several_times_is_one_line_in_the_terminal() -> None:
    asked = replace(summarise([]), components={"Replied": (1.0, 1), "Replied (2)": (0.0, 3)})

    assert "0.250  Replied (4 asked)" in as_text(asked)
    assert "Replied (2)" in as_html(asked)


def test_a_report_of_nothing_is_still_a_report() -> None:
    summary = summarise([])

    assert "0 episodes" in as_text(summary)
    assert summary.trustworthy
    assert as_html(summary).startswith("<!doctype html>")


def test_the_page_needs_nothing_from_elsewhere_and_quotes_what_it_shows(folder: Path) -> None:
    found = list(load(folder, quarantined=True))
    page = as_html(summarise([one.model_copy(update={"policy": "<script>x</script>"}) for one in found]), "A & B")

    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<title>A &amp; B</title>" in page
    assert not any(word in page for word in ("http://", "https://", "src=", "@import", "url("))
    assert page.count("<svg") == 3


def test_only_what_passed_is_offered_for_imitation(folder: Path, connection: Connection) -> None:
    operations = connection.run(discover(connection.address.control, "standard", ()))
    rows = list(chat_rows(load(folder), operations))

    assert len(rows) == 4
    for row in rows:
        roles = [message["role"] for message in row["messages"]]
        assert roles[:2] == ["system", "user"]
        asked = [call["id"] for message in row["messages"] for call in message.get("tool_calls", ())]
        told = [message["tool_call_id"] for message in row["messages"] if message["role"] == "tool"]
        assert asked == told
        offered = {tool["function"]["name"] for tool in row["tools"]}
        assert {call["function"]["name"] for m in row["messages"] for call in m.get("tool_calls", ())} <= offered


def test_flagged_episodes_stay_out_of_training(folder: Path, connection: Connection) -> None:
    operations = connection.run(discover(connection.address.control, "standard", ()))
    flag = Flag(tag="mass update", evidence="40 rows")
    flagged = [_with_verdict(one, flags=[flag]) for one in load(folder)]

    assert list(chat_rows(flagged, operations)) == []
    assert all(one.flagged for one in flagged)


def test_a_reinforcement_row_can_be_graded(folder: Path, connection: Connection, tmp_path: Path) -> None:
    operations = connection.run(discover(connection.address.control, "standard", ()))
    path = tmp_path / "rows.jsonl"
    written = write_rows(reinforcement_rows(load(folder), operations), path)
    row = json.loads(path.read_text().splitlines()[0])

    assert written == 4
    assert row["messages"][-1]["role"] == "user"
    assert dayshift.grade(row["grader"]["open"], [], connection).reward == 0.0


@pytest.mark.filterwarnings("ignore::UserWarning:minari")
def test_minari_reads_what_was_exported(
    folder: Path, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    import minari

    operations = connection.run(discover(connection.address.control, "standard", ()))
    export_minari(load(folder), operations, "dayshift/crm/trial-v0")
    dataset = minari.load_dataset("dayshift/crm/trial-v0")

    recorded = [one for one in load(folder) if one.policy != "careless"]
    episodes = list(dataset.iterate_episodes())
    assert len(episodes) == len(recorded)
    for episode, one in zip(episodes, recorded, strict=True):
        assert float(episode.rewards[-1]) == one.reward
        assert len(episode.rewards) == len(one.steps)
        assert len(episode.observations["body"]) == len(one.steps) + 1
        assert episode.observations["body"][1] == one.steps[0].answer


def test_a_folder_of_another_schema_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"schema": "dayshift.trajectory/0"}')

    with pytest.raises(ValueError, match="another schema"):
        dayshift.Recorder(tmp_path)


def _with_step(one: Trajectory, place: int, **changes: Any) -> Trajectory:
    steps = [step.model_copy(update=changes) if n == place else step for n, step in enumerate(one.steps)]
    return one.model_copy(update={"steps": steps})


def _with_verdict(one: Trajectory, **changes: Any) -> Trajectory:
    assert one.verdict is not None
    return one.model_copy(update={"verdict": one.verdict.model_copy(update=changes)})


def _with_manifest(one: Trajectory, **changes: Any) -> Trajectory:
    return one.model_copy(update={"manifest": one.manifest.model_copy(update=changes)})
