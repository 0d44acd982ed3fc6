"""Recordings can be read, replayed, summarised and exported."""

import asyncio
import gzip
import json
import math
import re
from html import escape
from pathlib import Path
from typing import Any

import dayshift
import pytest
from dayshift.cli import main
from dayshift.connection import Address, Connection
from dayshift.discovery import discover_operations
from dayshift.errors import SaltDiffers, WorldDiffers
from dayshift.export import build_chat_rows, build_reinforcement_rows, filter_trainable, write_rows
from dayshift.minari_export import export_minari
from dayshift.recorder import EPISODES_TABLE, QUARANTINED, SCORED, STEPS_TABLE
from dayshift.recordings import load, read
from dayshift.rendering import render_verdict
from dayshift.report import CheckScore, summarise, wilson_interval
from dayshift.report_html import render_html
from dayshift.report_text import render_text
from dayshift.rollout import PolicyInput, do_nothing
from dayshift.trajectory import SCHEMA, Quarantine, Trajectory, decode_text, encode_text
from dayshift.verdict_analysis import classify_failure
from dayshift.wire import Flag, OpenRequest

from tests.client.policies import diligent
from tests.control.stack import TASK


def careless(policy_input: PolicyInput) -> dayshift.Call | dict[str, Any]:
    """Solves the task, makes mistakes on the way, and leaves a stray contact behind."""
    steps_made = len(policy_input.history)
    if steps_made == 0:
        return {"operation": "crm.contacts.frobnicate", "arguments": "{"}
    if steps_made == 1:
        return dayshift.call("crm.contacts.get", contactId="999999")
    if steps_made == 2:
        return dayshift.call("crm.contacts.create", properties={"lastname": "Ünbidden 😀"})
    rest = policy_input.history[3:]
    return diligent(
        PolicyInput(**{name: getattr(policy_input, name) for name in PolicyInput.__slots__} | {"history": rest})
    )


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


def quarantined(trajectory: Trajectory) -> Trajectory:
    why = Quarantine(blame="harness", kind="StaleRead", because="crm answered from the past")
    return trajectory.model_copy(update={"verdict": None, "quarantine": why})


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


def test_episodes_without_a_reward_have_a_file_of_their_own_and_are_not_loaded(folder: Path) -> None:
    assert len(list(read(folder / QUARANTINED))) == 1
    assert all(trajectory.scored for trajectory in load(folder))
    assert len(list(load(folder, quarantined=True))) == 13


def test_the_tables_hold_the_same_data_as_the_lines(folder: Path) -> None:
    import pyarrow.parquet as pq

    recorded = {trajectory.manifest.episode_id: trajectory for trajectory in load(folder)}
    episodes = pq.read_table(folder / EPISODES_TABLE).to_pylist()
    steps = pq.read_table(folder / STEPS_TABLE).to_pylist()

    assert pq.read_schema(folder / EPISODES_TABLE).metadata[b"schema"] == SCHEMA.encode()
    assert {row["episode_id"]: row["reward"] for row in episodes} == {
        key: trajectory.reward for key, trajectory in recorded.items()
    }
    assert len(steps) == sum(len(trajectory.steps) for trajectory in recorded.values())
    for row in steps:
        step = recorded[row["episode_id"]].steps[row["number"] - 1]
        assert (row["answer"], json.loads(row["arguments"]), row["revision"]) == (
            step.answer,
            step.arguments,
            step.revision,
        )


def test_an_incomplete_last_line_is_skipped(folder: Path) -> None:
    whole = (folder / SCORED).read_bytes()
    (folder / SCORED).write_bytes(whole[:-100])

    assert len(list(read(folder / SCORED))) == 11


def test_a_broken_line_in_the_middle_raises(folder: Path) -> None:
    (folder / SCORED).write_text('{"no": "trajectory"}\n' + (folder / SCORED).read_text())

    with pytest.raises(dayshift.UsageError, match=f"{SCORED}:1"):
        list(read(folder / SCORED))


def test_any_body_survives_recording() -> None:
    for content in (b"plain", "ünïcode".encode(), b"\xff\x00\xfe", b"base64:not really", b""):
        assert decode_text(encode_text(content)) == content


def test_every_recorded_episode_replays_to_the_byte(folder: Path, connection: Connection) -> None:
    results = [dayshift.verify(trajectory, connection) for trajectory in load(folder)]

    assert [result.difference for result in results] == [None] * 12
    assert all(result.steps >= 1 for result in results)


def test_recordings_of_version_0_1_0_load_and_name_the_world_that_changed(
    connection: Connection, tmp_path: Path
) -> None:
    """Version 0.2.0 changed ids, worlds and checks on purpose; its changelog says so."""
    path = tmp_path / SCORED
    path.write_bytes(gzip.decompress((Path(__file__).parent / "recorded_by_0_1_0.jsonl.gz").read_bytes()))
    trajectories = list(read(path))

    assert {trajectory.manifest.versions["dayshift"] for trajectory in trajectories} == {"0.1.0"}
    assert [trajectory.ending for trajectory in trajectories] == ["passed", "failed", "failed", "passed", "quarantined"]
    diligent_one, _, _, team, unscored = trajectories
    assert [turn.asked for turn in team.turns] == ["crm", ""]
    assert unscored.quarantine is not None
    assert unscored.quarantine.blame == "policy"
    summary = summarise(trajectories)
    assert (summary.endings["passed"], summary.endings["failed"]) == (2, 2)
    operations = connection.run(discover_operations(connection.address.control, "standard", ()))
    conversations = list(build_chat_rows(trajectories, operations))
    assert len(conversations) == 3, "one of the agent, two of the team"
    difference = dayshift.verify(diligent_one, connection).difference
    assert difference is not None
    assert difference.what == "the fingerprint of the worlds"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda trajectory: _with_step(trajectory, 0, answer='{"results":[]}'), "the answer"),
        (lambda trajectory: _with_step(trajectory, 0, revision=99), "the revision"),
        (lambda trajectory: _with_step(trajectory, 0, status=418), "the status"),
        (lambda trajectory: _with_verdict(trajectory, reward=math.nextafter(trajectory.reward, 0)), "the verdict"),
        (lambda trajectory: _with_manifest(trajectory, fingerprint="0" * 64), "the fingerprint of the worlds"),
        (lambda trajectory: _with_manifest(trajectory, brief="Another one."), "the brief"),
        (lambda trajectory: _with_manifest(trajectory, action_space="0" * 64), "the action space"),
    ],
)
def test_the_first_difference_is_shown(folder: Path, connection: Connection, change: Any, what: str) -> None:
    trajectory = next(trajectory for trajectory in load(folder) if trajectory.policy == "diligent")

    result = dayshift.verify(change(trajectory), connection)

    assert result.difference is not None
    assert result.difference.what == what
    assert result.difference.recorded != result.difference.replayed


def test_grade_returns_the_reward_of_the_recorded_episode(folder: Path, connection: Connection) -> None:
    for trajectory in list(load(folder))[::3]:
        calls = [{"operation": step.operation, "arguments": step.arguments} for step in trajectory.steps]

        assert dayshift.grade(trajectory.manifest.open.model_dump(), calls, connection).reward == trajectory.reward


def test_the_report_and_the_exports_go_by_the_outcome_and_not_by_the_reward(folder: Path) -> None:
    whole = next(trajectory for trajectory in load(folder) if trajectory.ending == "passed")
    assert whole.verdict is not None
    detour = {"reward": 0.9985, "because": "less reward for 3 steps beyond par"}
    trajectory = whole.model_copy(update={"verdict": whole.verdict.model_copy(update=detour)})

    summary = summarise([trajectory])

    assert (summary.endings["passed"], summary.policies[0].passed) == (1, 1)
    assert list(filter_trainable([trajectory], passed=True)) == [trajectory]
    assert classify_failure(trajectory) == "passed"
    assert "  less reward for 3 steps beyond par\n" in render_verdict(trajectory.verdict or whole.verdict)


def test_a_failure_with_every_goal_reached_is_one_by_harm(folder: Path) -> None:
    whole = next(trajectory for trajectory in load(folder) if trajectory.ending == "passed")
    assert whole.verdict is not None
    harm = {"outcome": "failed", "reward": 0.88, "because": "harm done: ticket 9 was solved once too early"}
    trajectory = whole.model_copy(update={"verdict": whole.verdict.model_copy(update=harm)})

    assert classify_failure(trajectory) == "agent: harm done"


def test_the_report_counts_and_averages_correctly(folder: Path) -> None:
    summary = summarise(load(folder, quarantined=True))
    text = render_text(summary)

    assert summary.episodes == 13 == sum(summary.endings.values())
    assert summary.endings == {"passed": 4, "failed": 8, "quarantined": 1}
    assert summary.failure_classes == {
        "agent: did nothing": {"do_nothing": 4},
        "agent: harm done": {"careless": 4},
        "passed": {"diligent": 4},
        "harness: StaleRead": {"diligent": 1},
    }
    assert {policy: sum(histogram.counts) for policy, histogram in summary.rewards.items()} == {
        "careless": 4,
        "diligent": 4,
        "do_nothing": 4,
    }
    means = {row.policy: row.mean_reward for row in summary.tasks}
    assert means["diligent"] > means["careless"] > means["do_nothing"] == 0.0
    assert summary.checks["RecordMatches"] == {"careless": (1, 4), "diligent": (1, 4), "do_nothing": (0, 4)}
    assert {trajectory.policy: (trajectory.judged, trajectory.passed) for trajectory in summary.policies} == {
        "careless": (4, 0),
        "diligent": (4, 4),
        "do_nothing": (4, 0),
    }
    assert all(trajectory.mean_reward == pytest.approx(means[trajectory.policy]) for trajectory in summary.policies)
    assert [policy.policy for policy in summary.policies] == ["diligent", "careless", "do_nothing"]
    assert "diligent    1         4       4       100.0%  51.0% – 100.0%" in text
    assert text.index("how it ended") < text.index("95 % interval") < text.index("environment failure rate")
    assert summary.failure_rate == 1 / 13 > 0.05
    assert "7.69% (1 of 13), ABOVE the 5% line" in text
    assert not summary.trustworthy


def test_the_interval_of_a_share_is_wilsons() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson_interval(1, 1)[1] == 1.0


def test_a_check_that_an_episode_has_several_times_is_one_line(folder: Path) -> None:
    trajectory = next(load(folder))
    assert trajectory.verdict is not None
    first = trajectory.verdict.findings[0]
    findings = [first.model_copy(update={"check": "Replied", "score": score}) for score in (1.0, 0.0, 0.0, 0.0)]
    verdict = trajectory.verdict.model_copy(update={"findings": findings})
    summary = summarise([trajectory.model_copy(update={"verdict": verdict, "policy": "p"})])

    assert summary.checks == {"Replied": {"p": CheckScore(0.25, 4)}}
    assert "0.250 (4)" in render_text(summary)
    assert "0.250 (4)" in render_html(summary)


def test_every_number_of_the_page_leads_to_episodes_that_can_be_read_step_by_step(folder: Path) -> None:
    trajectories = list(load(folder, quarantined=True))
    page = render_html(summarise(trajectories))
    anchors = set(re.findall(r'id="(\w+)"', page))
    linked = re.findall(r'href="#(\w+)"', page)
    diligent_episode = next(trajectory for trajectory in trajectories if trajectory.policy == "diligent")
    standings = page.partition("<h2>Standings</h2>")[2].partition("<h2>")[0]
    numbers = re.findall(r'<td data-column="(?!policy)[^"]+">(.*?)</td>', standings)
    titles = dict(re.findall(r'<summary>([^<]+)</summary><p id="(\w+)">', page))

    assert len(numbers) == 3 * 6
    assert [number for number in numbers if "<a" not in number] == ["0", "0"], (
        "nobody passed, so there is nothing to read"
    )
    # One of its five episodes was never judged.
    assert f'<a href="#{titles["diligent, judged: 4 episodes"]}">4</a>' in standings
    assert f'<a href="#{titles["diligent, passed: 4 episodes"]}">4</a>' in standings
    assert set(linked) <= anchors
    assert {anchor for anchor in anchors if anchor.startswith("e")} == {f"e{number}" for number in range(1, 14)}
    assert set(re.findall(r'<a href="#l\w+">([^<]+)</a>', page)) >= {"4", "1", "1.000 (4)"}
    assert escape(diligent_episode.steps[0].target) in page
    assert escape(diligent_episode.manifest.brief) in page
    assert page.count("<h3>Verdict: ") == 12


def test_the_page_of_a_long_run_stays_small_and_shows_some_episodes_of_every_policy(folder: Path) -> None:
    trajectories = [trajectory for trajectory in load(folder) for _ in range(100)]
    page = render_html(summarise(trajectories))

    assert "800 more episodes are listed without their steps" in page
    assert page.count("<h3>Verdict: passed") == 134
    assert len(page) < 5_000_000


def test_a_report_without_episodes_renders() -> None:
    summary = summarise([])

    assert "0 episodes" in render_text(summary)
    assert summary.trustworthy
    assert render_html(summary).startswith("<!doctype html>")


def test_the_page_loads_nothing_and_escapes_its_content(folder: Path) -> None:
    trajectories = list(load(folder, quarantined=True))
    page = render_html(
        summarise([trajectory.model_copy(update={"policy": "<script>x</script>"}) for trajectory in trajectories]),
        "A & B",
    )

    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<title>A &amp; B</title>" in page
    assert not any(word in page for word in ("http://", "https://", "src=", "@import", "url("))
    assert page.count("<svg") == 2
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page


def test_chat_rows_come_from_passed_episodes_only(folder: Path, connection: Connection) -> None:
    operations = connection.run(discover_operations(connection.address.control, "standard", ()))
    rows = list(build_chat_rows(load(folder), operations))

    assert len(rows) == 4
    for row in rows:
        roles = [message["role"] for message in row["messages"]]
        assert roles[:2] == ["system", "user"]
        call_ids = [call["id"] for message in row["messages"] for call in message.get("tool_calls", ())]
        answer_ids = [message["tool_call_id"] for message in row["messages"] if message["role"] == "tool"]
        assert call_ids == answer_ids
        offered = {tool["function"]["name"] for tool in row["tools"]}
        assert {call["function"]["name"] for m in row["messages"] for call in m.get("tool_calls", ())} <= offered


def test_flagged_episodes_stay_out_of_training(folder: Path, connection: Connection) -> None:
    operations = connection.run(discover_operations(connection.address.control, "standard", ()))
    flag = Flag(tag="mass update", evidence="40 rows")
    flagged = [_with_verdict(trajectory, flags=[flag]) for trajectory in load(folder)]

    assert list(build_chat_rows(flagged, operations)) == []
    assert all(trajectory.flagged for trajectory in flagged)


def test_a_reinforcement_row_can_be_graded(folder: Path, connection: Connection, tmp_path: Path) -> None:
    operations = connection.run(discover_operations(connection.address.control, "standard", ()))
    path = tmp_path / "rows.jsonl"
    written = write_rows(build_reinforcement_rows(load(folder), operations), path)
    row = json.loads(path.read_text().splitlines()[0])

    assert written == 4
    assert row["messages"][-1]["role"] == "user"
    assert dayshift.grade_messages(row["grader"], [], connection).reward == 0.0
    solved = next(
        t for t in load(folder) if t.policy == "diligent" and t.manifest.open == OpenRequest(**row["grader"]["open"])
    )
    (chat,) = build_chat_rows([solved], operations)
    assert dayshift.grade_messages(row["grader"], chat["messages"], connection).reward == solved.reward
    with pytest.raises(WorldDiffers):
        dayshift.grade_messages({**row["grader"], "fingerprint": "0" * 64}, [], connection)
    with pytest.raises(SaltDiffers):
        dayshift.grade_messages({**row["grader"], "salt": "0" * 64}, [], connection)


@pytest.mark.filterwarnings("ignore::UserWarning:minari")
def test_minari_reads_the_exported_dataset(
    folder: Path, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    import minari

    exported = export_minari(load(folder, quarantined=True), "dayshift/crm/trial-v0")
    dataset = minari.load_dataset("dayshift/crm/trial-v0")

    recorded = [trajectory for trajectory in load(folder) if trajectory.policy != "careless"]
    episodes = list(dataset.iterate_episodes())
    assert exported.environment == "dayshift/Crm-v0"
    assert exported.left_out == {"unscored": 1, "flagged": 4}
    with_flagged = export_minari(load(folder), "dayshift/crm/flagged-v0", flagged=True)
    assert with_flagged.left_out == {"with a call of no operation": 4}
    assert len(episodes) == len(recorded)
    for episode, trajectory in zip(episodes, recorded, strict=True):
        assert float(episode.rewards[-1]) == trajectory.reward
        assert len(episode.rewards) == len(trajectory.steps)
        assert len(episode.observations["body"]) == len(trajectory.steps) + 1
        assert episode.observations["body"][1] == trajectory.steps[0].answer


@pytest.mark.filterwarnings("ignore::UserWarning:minari")
def test_an_exported_dataset_recovers_its_environment_and_its_episodes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    import minari

    assert main(["export", str(folder), "--form", "minari", "--output", "dayshift/crm/again-v0"]) == 0
    dataset = minari.load_dataset("dayshift/crm/again-v0")
    env = dataset.recover_environment()
    episode = next(e for e in dataset.iterate_episodes() if len(e.rewards) > 1)
    (about,) = dataset.storage.get_episode_metadata([episode.id])
    first, _ = env.reset(seed=about["seed"], options=about["options"])
    actions = [
        {"operation": operation, "arguments": arguments}
        for operation, arguments in zip(episode.actions["operation"], episode.actions["arguments"], strict=True)
    ]
    rewards = [float(env.step(action)[1]) for action in actions]
    env.close()

    assert env.action_space["operation"] == dataset.action_space["operation"]
    assert first["brief"] == episode.observations["brief"][0]
    assert rewards == [float(reward) for reward in episode.rewards]


def test_a_recorder_refuses_a_folder_of_another_schema(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"schema": "dayshift.trajectory/0"}')

    with pytest.raises(ValueError, match="another schema"):
        dayshift.Recorder(tmp_path)


def _with_step(trajectory: Trajectory, index: int, **changes: Any) -> Trajectory:
    steps = [step.model_copy(update=changes) if n == index else step for n, step in enumerate(trajectory.steps)]
    return trajectory.model_copy(update={"steps": steps})


def _with_verdict(trajectory: Trajectory, **changes: Any) -> Trajectory:
    assert trajectory.verdict is not None
    return trajectory.model_copy(update={"verdict": trajectory.verdict.model_copy(update=changes)})


def _with_manifest(trajectory: Trajectory, **changes: Any) -> Trajectory:
    return trajectory.model_copy(update={"manifest": trajectory.manifest.model_copy(update=changes)})


def test_a_recording_holds_the_rows_that_each_step_changed(folder: Path) -> None:
    for trajectory in load(folder):
        assert trajectory.changes is not None
        corrections = [
            change
            for change in trajectory.changes
            if change.is_by_agent and trajectory.steps[change.step - 1].operation == "crm.contacts.update"
        ]
        if trajectory.policy == "do_nothing":
            assert trajectory.changes == []
            continue
        correction = corrections[-1]
        assert correction.before is not None
        assert correction.after is not None
        written = json.loads(trajectory.steps[correction.step - 1].request)["properties"]["phone"]
        assert correction.before["properties"].get("phone") != written
        assert correction.after["properties"]["phone"] == written


def test_a_verdict_tells_the_numbers_of_its_reward(folder: Path) -> None:
    for trajectory in load(folder):
        assert trajectory.verdict is not None
        numbers = trajectory.verdict.breakdown
        assert numbers is not None
        reward = numbers.earned * numbers.efficiency * numbers.precision - (1 - numbers.precision)
        assert reward == pytest.approx(trajectory.reward)
        assert sum(harm.weight for harm in numbers.harms) == numbers.harm


def test_the_guides_row_and_call_grade_an_answer(connection: Connection, folder: Path, tmp_path: Path) -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "client.md").read_text()
    section = guide.partition("### Grade answers to an exported prompt")[2]
    documented = json.loads(section.partition("```json")[2].partition("```")[0])
    example: dict[str, Any] = {}
    exec(section.partition("```python")[2].partition("```")[0], example)
    operations = connection.run(discover_operations(connection.address.control, "standard", ()))
    (row, *_) = build_reinforcement_rows(load(folder), operations, "core")
    path = tmp_path / "rows.jsonl"
    write_rows([row], path)

    assert example["grade_first"](path) == 0.0
    assert row.keys() == {"messages", "tools", "grader"}
    assert row["grader"].keys() == documented.keys()
    assert row["grader"]["type"] == documented["type"] == "dayshift.grade_messages"
    assert documented["open"].items() <= {**row["grader"]["open"], "seed": 7}.items()
    with pytest.raises(WorldDiffers, match="was exported from the worlds"):
        example["reward"]({**row, "grader": {**row["grader"], "fingerprint": "another"}}, [])
    with pytest.raises(SaltDiffers, match="DAYSHIFT_SALT"):
        example["reward"]({**row, "grader": {**row["grader"], "salt": "another"}}, [])
