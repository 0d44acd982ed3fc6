"""Many episodes, yielded as they finish."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dayshift
import pytest
from dayshift.connection import AsyncConnection, Connection
from dayshift.recordings import load
from dayshift.rollout import Policy, Situation, do_nothing
from dayshift.trajectory import Trajectory

from tests.client.bad_house import BadHouse
from tests.client.tricks import diligent
from tests.control.stack import TASK

pytestmark = pytest.mark.usefixtures("address")


def collected(policy: Policy, tasks: Any, **options: Any) -> list[Trajectory]:
    async def collect() -> list[Trajectory]:
        return [one async for one in dayshift.rollouts(policy, tasks, progress=False, **options)]

    return asyncio.run(collect())


def seeds(count: int, **options: Any) -> list[dayshift.OpenRequest]:
    return list(dayshift.tasks(TASK, seeds=range(count), **options))


def test_a_good_policy_passes_everywhere_and_doing_nothing_earns_nothing() -> None:
    good, idle = collected(diligent, seeds(12), concurrency=6), collected(do_nothing, seeds(4))

    assert [one.ending for one in good] == ["passed"] * 12
    assert all(one.verdict is not None and one.reward == one.verdict.reward for one in good)
    assert sorted(one.manifest.open.seed for one in good) == list(range(12))
    assert [one.reward for one in idle] == [0.0] * 4
    assert {one.policy for one in good} == {"diligent"}


def test_coroutines_may_be_policies() -> None:
    async def thoughtful(situation: Situation) -> dayshift.Call:
        await asyncio.sleep(0)
        return diligent(situation)

    assert [one.ending for one in collected(thoughtful, seeds(3))] == ["passed"] * 3


def test_one_failure_ends_one_episode(tmp_path: Path) -> None:
    def brittle(situation: Situation) -> dayshift.Call:
        if situation.seed == 2:
            raise ZeroDivisionError("the policy's own bug")
        return diligent(situation)

    wanted = [*seeds(4), dayshift.OpenRequest(task=TASK, seed=9, faults="storm")]
    with dayshift.Recorder(tmp_path) as recorder:
        played = collected(brittle, wanted, concurrency=2, recorder=recorder)

    failed = [one for one in played if one.manifest.open.seed == 2]
    assert len(played) == 5
    assert failed[0].quarantine is not None
    assert (failed[0].quarantine.blame, failed[0].quarantine.kind) == ("policy", "ZeroDivisionError")
    assert failed[0].reward is None
    assert {one.manifest.open.seed for one in load(tmp_path)} >= {0, 1, 3}
    assert 2 not in {one.manifest.open.seed for one in load(tmp_path)}


def test_a_task_that_does_not_exist_is_the_callers_and_stops_nobody_else() -> None:
    wrong = dayshift.OpenRequest(task="crm/nobody-wrote-this")

    played = collected(do_nothing, [wrong, *seeds(2)], concurrency=1)

    assert [one.ending for one in played] == ["quarantined", "failed", "failed"]
    assert played[0].quarantine is not None
    assert (played[0].quarantine.blame, played[0].quarantine.kind) == ("caller", "ControlRefused")


def test_a_wrong_token_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "not this one")

    with pytest.raises(dayshift.ControlRefused, match="401"):
        collected(do_nothing, seeds(50), concurrency=4)


def test_a_stack_that_is_not_there_quarantines_and_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", "http://127.0.0.1:1")

    played = collected(do_nothing, seeds(6), concurrency=3)

    assert {one.quarantine.kind for one in played if one.quarantine} == {"Unreachable"}
    assert len(played) == 6


def test_tasks_are_drawn_only_as_places_come_free() -> None:
    drawn = []

    def endless() -> Iterator[dayshift.OpenRequest]:
        seed = 0
        while True:
            drawn.append(seed)
            yield dayshift.OpenRequest(task=TASK, seed=seed)
            seed += 1

    async def take(count: int) -> int:
        taken = 0
        running = dayshift.rollouts(do_nothing, endless(), concurrency=3, progress=False)
        async for _ in running:
            taken += 1
            if taken == count:
                break
        await running.aclose()  # type: ignore[attr-defined]
        return taken

    assert asyncio.run(take(5)) == 5
    assert len(drawn) < 40


def test_every_step_is_stamped_with_the_policy_that_made_it() -> None:
    class Learner:
        version = 1

        def __call__(self, situation: Situation) -> dayshift.Call:
            self.version += len(situation.history)
            return diligent(situation)

    learner = Learner()
    played = collected(learner, seeds(1), concurrency=1)[0]
    fixed = collected(diligent, seeds(1), version="v7")[0]

    assert played.policy_version == "1"
    assert not played.on_policy
    assert (fixed.policy_version, fixed.on_policy) == ("v7", True)
    assert {step.policy_version for step in fixed.steps} == {"v7"}


def test_a_policy_that_never_submits_is_judged_when_its_budget_ends() -> None:
    def reader(_situation: Situation) -> dayshift.Call:
        return dayshift.call("crm.contacts.list", limit=1)

    played = collected(reader, seeds(1))[0]

    assert played.manifest.budget is not None
    assert len(played.steps) == played.manifest.budget.steps + 1
    assert (played.steps[-1].operation, played.reward) == ("submit", 0.0)


def test_planned_faults_are_met_and_still_judged() -> None:
    def persistent(situation: Situation) -> dayshift.Call:
        """Repeats whatever got no proper answer, and otherwise does its work."""
        if situation.last is not None and (situation.last.status in {0, 429, 503}):
            return situation.last.call
        return diligent(situation)

    played = collected(persistent, seeds(8, faults="storm"), concurrency=4)

    met = [step.fault or step.status for one in played for step in one.steps if step.status in {0, 429, 503}]
    assert met
    assert [one.ending for one in played] == ["passed"] * 8


def test_a_busy_house_is_waited_for(bad_house: BadHouse) -> None:
    bad_house.busy = 1

    async def collect() -> list[Trajectory]:
        async with AsyncConnection(bad_house.address) as connection:
            return [one async for one in dayshift.rollouts(do_nothing, seeds(1), connection=connection, progress=False)]

    assert [one.reward for one in asyncio.run(collect())] == [1.0]
    bad_house.busy = 1
    with pytest.raises(dayshift.NotNow, match="crm is starting"), Connection(bad_house.address) as connection:
        dayshift.Episode.open(TASK, connection=connection)
