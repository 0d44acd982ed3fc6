"""Hooks of a trainer: metrics, curriculum, interventions, and the manifest of an experiment."""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import pytest
from dayshift.experiment import read_git_state
from dayshift.export import filter_trainable
from dayshift.metrics import is_learnable
from dayshift.recordings import load
from dayshift.replay import verify

from tests.client.policies import diligent, find_correction
from tests.control.stack import TASK

LIST = dayshift.call("crm.contacts.list", limit=1)
FINISH = dayshift.call("finish_work")
COMMON = {"task": TASK, "fingerprint": "f"}
PASSED = {**COMMON, "verdict": {"outcome": "passed", "reward": 1.0}}
FAILED = {**COMMON, "verdict": {"outcome": "failed", "reward": 0.2, "flags": [{"tag": "policy", "evidence": "it"}]}}
UNSCORED = {**COMMON, "quarantined": "ServiceError: 500"}


class Notes:
    """A tracker that keeps what it is given."""

    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.logged.append((step, dict(values)))


def test_metrics_count_an_unscored_episode_and_never_as_a_reward_of_zero() -> None:
    notes = Notes()
    metrics = dayshift.EpisodeMetrics(notes, every=4)
    for info in (PASSED, FAILED, COMMON, UNSCORED, PASSED):
        metrics.add_info(info)
    metrics.add_info(UNSCORED)
    metrics.close()

    assert notes.logged[0] == (
        4,
        {
            "dayshift/unscored_rate": 0.25,
            "dayshift/episodes": 4.0,
            "dayshift/reward": pytest.approx(2.2 / 3),
            "dayshift/pass_rate": pytest.approx(2 / 3),
            "dayshift/flagged_rate": pytest.approx(1 / 3),
            "dayshift/flags/policy": 1.0,
        },
    )
    assert notes.logged[1] == (5, {"dayshift/unscored_rate": 1.0, "dayshift/episodes": 5.0})
    assert metrics.fingerprints == {TASK: "f"}


def test_what_must_not_be_learned_from_is_told_by_its_info() -> None:
    learnable = [is_learnable(info) for info in (PASSED, FAILED, UNSCORED, {**PASSED, "intervened": True})]

    assert learnable == [True, True, False, False]


@pytest.mark.usefixtures("address")
def test_metrics_are_a_recorder_of_an_environment() -> None:
    with dayshift.EpisodeMetrics(notes := Notes()) as metrics:
        env = gymnasium.make("dayshift/Crm-v0", task=TASK, recorder=metrics)
        env.reset(seed=3)
        env.step(FINISH)
        env.close()

    assert [values["dayshift/reward"] for _, values in notes.logged] == [0.0]


def test_a_curriculum_draws_most_what_is_passed_half_of_the_time() -> None:
    curriculum = dayshift.Curriculum(["easy", "half", "hard"], seed=1, memory=10)
    before = curriculum.weights()
    for number in range(10):
        curriculum.update("easy", passed=True)
        curriculum.update("half", passed=number % 2 == 0)
        curriculum.update("hard", passed=False)
    after = curriculum.weights()

    assert before == dict.fromkeys(("easy", "half", "hard"), pytest.approx(1 / 3))
    assert after["half"] > 2 * after["easy"] == pytest.approx(2 * after["hard"])
    assert after["hard"] > 0.1
    assert sum(after.values()) == pytest.approx(1)


def test_a_curriculum_goes_on_from_its_state_with_the_same_draws() -> None:
    first = dayshift.Curriculum(["a", "b"], seed=4)
    first.update("a", passed=True)
    drawn = [first.sample() for _ in range(5)]
    again = dayshift.Curriculum.from_state(json.loads(json.dumps(first.state())))

    assert [first.sample() for _ in range(20)] == [again.sample() for _ in range(20)]
    assert [(task.task, task.seed) for task in first.tasks(3)] == [(task.task, task.seed) for task in again.tasks(3)]
    assert first.state()["episodes"] == {"a": 1, "b": 0}
    assert set(drawn) <= {"a", "b"}
    with pytest.raises(dayshift.UsageError, match="not among"):
        first.update("c", passed=True)
    with pytest.raises(dayshift.UsageError, match="each of them once"):
        dayshift.Curriculum(["a", "a"])


def test_a_curriculum_learns_nothing_from_an_unscored_episode() -> None:
    curriculum = dayshift.Curriculum([TASK])
    for info in (UNSCORED, {**PASSED, "intervened": True}, PASSED):
        curriculum.update_from_info(info)

    assert curriculum.state()["passed"] == {TASK: [True]}


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize("vector", [False, True])
def test_an_environment_draws_from_its_curriculum_and_teaches_it(vector: bool) -> None:
    curriculum = dayshift.Curriculum([TASK], seed=2)
    env: Any
    if vector:
        env = gymnasium.make_vec("dayshift/Crm-v0", 1, curriculum=curriculum)
    else:
        env = gymnasium.make("dayshift/Crm-v0", curriculum=curriculum)
    _, info = env.reset(seed=3)
    env.step([FINISH] if vector else FINISH)
    env.close()

    assert info["task"] == ([TASK] if vector else TASK)
    assert curriculum.state()["episodes"] == {TASK: 1}


def test_the_manifest_of_an_experiment_holds_what_is_needed_to_repeat_it(tmp_path: Path) -> None:
    curriculum = dayshift.Curriculum([TASK], seed=2)
    written = dayshift.write_experiment(
        tmp_path / "deep" / "experiment.json",
        seeds=range(2),
        settings={"into": tmp_path, "steps": 10},
        packages=("pydantic", "no-such-package"),
        fingerprints={TASK: "f"},
        curriculum=curriculum,
        results={"reward": 0.5},
    )
    read = json.loads((tmp_path / "deep" / "experiment.json").read_text())

    assert (read["seeds"], read["fingerprints"], read["results"]) == ([0, 1], {TASK: "f"}, {"reward": 0.5})
    assert {"python", "dayshift", "gymnasium", "pydantic"} <= read["versions"].keys()
    assert "no-such-package" not in read["versions"]
    assert read["curriculum"]["weights"] == {TASK: 1.0}
    assert set(written["git"] or {"commit", "changed"}) == {"commit", "changed"}
    assert read_git_state(tmp_path) is None


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    return tmp_path / "recorded"


def record(folder: Path, episode: dayshift.Episode) -> dayshift.Trajectory:
    with dayshift.Recorder(folder) as recorder:
        recorder.record(episode.trajectory())
    (recorded,) = load(folder)
    return recorded


@pytest.mark.usefixtures("address")
def test_a_vetoed_call_is_not_made_and_the_agent_reads_why(folder: Path) -> None:
    def forbid_removal(proposal: dayshift.Proposal) -> dayshift.Allow | dayshift.Veto:
        is_removal = proposal.call.operation.endswith(".archive")
        return dayshift.Veto("nobody removes contacts today") if is_removal else dayshift.Allow()

    supervisor = dayshift.Supervisor(forbid_removal, by="Ana")
    with dayshift.Episode.open(TASK, seed=3, supervisor=supervisor) as episode:
        contact = episode.step("crm.contacts.list", limit=1).json()["results"][0]["id"]
        vetoed = episode.step("crm.contacts.archive", contactId=contact)
        still_there = episode.step("crm.contacts.get", contactId=contact)
        episode.step(FINISH)
    recorded = record(folder, episode)

    assert (vetoed.status, vetoed.sent) == (0, False)
    assert vetoed.text == "This call was not made: nobody removes contacts today"
    assert still_there.status == 200
    (intervention,) = recorded.interventions
    assert (intervention.kind, intervention.step, intervention.by) == ("vetoed", 2, "Ana")
    assert intervention.operation == "crm.contacts.archive"
    assert recorded.verdict is not None
    assert not recorded.verdict.collateral
    assert verify(recorded).identical


@pytest.mark.usefixtures("address")
def test_a_replaced_call_stays_out_of_training_unless_it_is_asked_for(folder: Path) -> None:
    right = find_correction(dayshift.OpenRequest(task=TASK, seed=3))[0]

    def correct(proposal: dayshift.Proposal) -> dayshift.Allow | dayshift.Replace:
        is_first = not proposal.history
        return dayshift.Replace(right, "the policy is new here") if is_first else dayshift.Allow()

    with dayshift.Episode.open(TASK, seed=3, supervisor=dayshift.Supervisor(correct)) as episode:
        episode.step(LIST)
        episode.step(FINISH)
    recorded = record(folder, episode)

    assert (recorded.ending, recorded.intervened) == ("passed", True)
    assert recorded.interventions[0].operation == LIST.operation
    assert list(filter_trainable([recorded])) == []
    assert list(filter_trainable([recorded], intervened=True)) == [recorded]
    assert verify(recorded).identical


@pytest.mark.usefixtures("address")
def test_somebody_takes_over_and_hands_back() -> None:
    supervisor = dayshift.Supervisor(by="Ben")
    env: Any = gymnasium.make("dayshift/Crm-v0", task=TASK, supervisor=supervisor)
    env.reset(seed=3)
    supervisor.take_over(lambda _proposal: LIST)
    *_, taken = env.step(dayshift.call("crm.contacts.get", contactId="1"))
    supervisor.hand_back()
    *_, finished = env.step(FINISH)
    steps = env.unwrapped.episode.steps
    env.close()

    assert steps[0].call == LIST
    assert (taken["intervened"], finished["intervened"]) == (True, True)
    assert not is_learnable(finished)


@pytest.mark.usefixtures("address")
def test_a_paused_episode_waits_until_it_is_resumed() -> None:
    supervisor = dayshift.Supervisor()
    with dayshift.Episode.open(TASK, seed=3, supervisor=supervisor) as episode:
        supervisor.pause("lunch")
        worker = threading.Thread(target=episode.step, args=(LIST,))
        worker.start()
        worker.join(0.3)
        waited = worker.is_alive() and not episode.steps
        supervisor.resume()
        worker.join(30)
        trajectory = episode.trajectory()

    assert waited
    assert [(each.kind, each.because) for each in trajectory.interventions] == [("paused", "lunch")]
    # A pause changes nothing that the agent can notice.
    assert (len(trajectory.steps), trajectory.intervened) == (1, False)


@pytest.mark.anyio
@pytest.mark.usefixtures("address")
async def test_rollouts_take_a_supervisor_and_a_curriculum() -> None:
    curriculum = dayshift.Curriculum([TASK], seed=5)

    def veto_first(proposal: dayshift.Proposal) -> dayshift.Allow | dayshift.Veto:
        return dayshift.Veto("later") if proposal.seed == seeds[0] and not proposal.history else dayshift.Allow()

    requests = list(curriculum.tasks(2))
    seeds = [request.seed for request in requests]
    finished = [
        trajectory
        async for trajectory in dayshift.rollouts(
            lambda situation: diligent(situation) if situation.last is None or situation.last.sent else LIST,
            requests,
            concurrency=2,
            recorder=curriculum,
            supervisor=dayshift.Supervisor(veto_first),
            max_steps=30,
        )
    ]

    assert {each.manifest.open.seed: each.intervened for each in finished} == {seeds[0]: True, seeds[1]: False}
    assert all(each.manifest.max_steps == 30 for each in finished)
    assert curriculum.state()["episodes"] == {TASK: 1}
