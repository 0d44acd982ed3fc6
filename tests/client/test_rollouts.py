"""Many episodes, yielded as they finish."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dayshift
import pyarrow.parquet
import pytest
from dayshift.connection import Address, AsyncConnection, Connection
from dayshift.episode import AsyncEpisode
from dayshift.recordings import load
from dayshift.rollout import Policy, PolicyInput, do_nothing
from dayshift.trajectory import Trajectory

from tests.client.faulty_server import FaultyServer
from tests.client.policies import diligent
from tests.control.stack import TASK

pytestmark = pytest.mark.usefixtures("address")


def collect_rollouts(policy: Policy, tasks: Any, **options: Any) -> list[Trajectory]:
    async def collect() -> list[Trajectory]:
        return [trajectory async for trajectory in dayshift.rollouts(policy, tasks, progress=False, **options)]

    return asyncio.run(collect())


def seeds(count: int, **options: Any) -> list[dayshift.OpenRequest]:
    return list(dayshift.tasks(TASK, seeds=range(count), **options))


def test_a_good_policy_passes_everywhere_and_doing_nothing_earns_nothing() -> None:
    good, idle = collect_rollouts(diligent, seeds(12), concurrency=6), collect_rollouts(do_nothing, seeds(4))

    assert [trajectory.ending for trajectory in good] == ["passed"] * 12
    assert all(trajectory.verdict is not None and trajectory.reward == trajectory.verdict.reward for trajectory in good)
    assert sorted(trajectory.manifest.open.seed for trajectory in good) == list(range(12))
    assert [trajectory.reward for trajectory in idle] == [0.0] * 4
    assert {trajectory.policy for trajectory in good} == {"diligent"}


def test_coroutines_may_be_policies() -> None:
    async def thoughtful(policy_input: PolicyInput) -> dayshift.Call:
        await asyncio.sleep(0)
        return diligent(policy_input)

    assert [trajectory.ending for trajectory in collect_rollouts(thoughtful, seeds(3))] == ["passed"] * 3


def test_one_failure_ends_one_episode(tmp_path: Path) -> None:
    def brittle(policy_input: PolicyInput) -> dayshift.Call:
        if policy_input.seed == 2:
            raise ZeroDivisionError("the policy's own bug")
        return diligent(policy_input)

    requests = [*seeds(4), dayshift.OpenRequest(task=TASK, seed=9, faults="storm")]
    with dayshift.Recorder(tmp_path) as recorder:
        trajectories = collect_rollouts(brittle, requests, concurrency=2, recorder=recorder)

    failed = [trajectory for trajectory in trajectories if trajectory.manifest.open.seed == 2]
    assert len(trajectories) == 5
    assert failed[0].quarantine is not None
    assert (failed[0].quarantine.blame, failed[0].quarantine.kind) == ("policy", "ZeroDivisionError")
    assert failed[0].reward is None
    assert {trajectory.manifest.open.seed for trajectory in load(tmp_path)} >= {0, 1, 3}
    assert 2 not in {trajectory.manifest.open.seed for trajectory in load(tmp_path)}


def test_a_missing_task_is_blamed_on_the_caller_and_the_others_go_on() -> None:
    wrong = dayshift.OpenRequest(task="crm/nobody-wrote-this")

    trajectories = collect_rollouts(do_nothing, [wrong, *seeds(2)], concurrency=1)

    assert [trajectory.ending for trajectory in trajectories] == ["quarantined", "failed", "failed"]
    assert trajectories[0].quarantine is not None
    assert (trajectories[0].quarantine.blame, trajectories[0].quarantine.kind) == ("caller", "ControlRefused")


def test_a_wrong_token_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "not this one")

    with pytest.raises(dayshift.ControlRefused, match="does not accept the token"):
        collect_rollouts(do_nothing, seeds(50), concurrency=4)


def test_a_missing_stack_quarantines_every_episode_and_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", "http://127.0.0.1:1")

    trajectories = collect_rollouts(do_nothing, seeds(6), concurrency=3)

    assert {trajectory.quarantine.kind for trajectory in trajectories if trajectory.quarantine} == {"Unreachable"}
    assert len(trajectories) == 6


def test_tasks_are_taken_from_the_iterator_only_when_a_worker_is_free() -> None:
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


def test_every_step_has_the_version_of_its_policy() -> None:
    class Learner:
        version = 1

        def __call__(self, policy_input: PolicyInput) -> dayshift.Call:
            self.version += len(policy_input.history)
            return diligent(policy_input)

    learner = Learner()
    trajectories = collect_rollouts(learner, seeds(1), concurrency=1)[0]
    fixed = collect_rollouts(diligent, seeds(1), version="v7")[0]

    assert trajectories.policy_version == "1"
    assert not trajectories.on_policy
    assert (fixed.policy_version, fixed.on_policy) == ("v7", True)
    assert {step.policy_version for step in fixed.steps} == {"v7"}


def test_a_policy_that_never_submits_gets_a_verdict_when_its_budget_ends() -> None:
    def reader(_situation: PolicyInput) -> dayshift.Call:
        return dayshift.call("crm.contacts.list", limit=1)

    trajectories = collect_rollouts(reader, seeds(1))[0]

    assert trajectories.manifest.budget is not None
    assert len(trajectories.steps) == trajectories.manifest.budget.steps + 1
    assert (trajectories.steps[-1].operation, trajectories.reward) == ("finish_work", 0.0)


def test_episodes_with_planned_faults_are_scored() -> None:
    def persistent(policy_input: PolicyInput) -> dayshift.Call:
        """Repeats whatever got no proper answer, and otherwise does its work."""
        if policy_input.last is not None and (policy_input.last.status in {0, 429, 503}):
            return policy_input.last.call
        return diligent(policy_input)

    trajectories = collect_rollouts(persistent, seeds(8, faults="storm"), concurrency=4)

    faults = [
        step.fault or step.status
        for trajectory in trajectories
        for step in trajectory.steps
        if step.status in {0, 429, 503}
    ]
    assert faults
    assert [trajectory.ending for trajectory in trajectories] == ["passed"] * 8


def test_rollouts_wait_for_a_busy_stack(faulty_server: FaultyServer) -> None:
    faulty_server.busy = 1

    async def collect() -> list[Trajectory]:
        async with AsyncConnection(faulty_server.address) as connection:
            return [
                trajectory
                async for trajectory in dayshift.rollouts(do_nothing, seeds(1), connection=connection, progress=False)
            ]

    assert [trajectory.reward for trajectory in asyncio.run(collect())] == [1.0]
    faulty_server.busy = 1
    with pytest.raises(dayshift.RetryLater, match="crm is starting"), Connection(faulty_server.address) as connection:
        dayshift.Episode.open(TASK, connection=connection)


def test_groups_come_whole_and_name_their_unscored_members(tmp_path: Path) -> None:
    calls = 0

    def sometimes_faulty(_: PolicyInput) -> dayshift.Call:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("a bug of the policy")
        return dayshift.call("submit")

    async def collect(recorder: dayshift.Recorder) -> list[dayshift.Group]:
        rollouts = dayshift.group_rollouts(
            sometimes_faulty, seeds(2), group_size=3, concurrency=2, recorder=recorder, progress=False
        )
        return [group async for group in rollouts]

    with dayshift.Recorder(tmp_path) as recorder:
        groups = asyncio.run(collect(recorder))

    assert sorted(group.id for group in groups) == [f"{TASK}/train/{seed}@standard" for seed in range(2)]
    assert all([member.attempt for member in group.trajectories] == [0, 1, 2] for group in groups)
    assert sum(len(group.unscored) for group in groups) == 1
    assert sum(len(group.scored) for group in groups) == 5
    assert {trajectory.group for trajectory in load(tmp_path)} == {group.id for group in groups}


def test_an_instance_that_comes_again_makes_another_group() -> None:
    """Both passes are played at the same time, and a group holds attempts of one of them."""

    async def collect() -> list[dayshift.Group]:
        twice = [*seeds(2), *seeds(2)]
        rollouts = dayshift.group_rollouts(do_nothing, twice, group_size=3, concurrency=12, progress=False)
        return [group async for group in rollouts]

    groups = sorted(asyncio.run(collect()), key=lambda group: (group.id, group.trajectories[0].attempt))

    assert [group.id for group in groups] == [f"{TASK}/train/{seed}@standard" for seed in (0, 0, 1, 1)]
    attempts = [[member.attempt for member in group.trajectories] for group in groups]
    assert attempts == [[0, 1, 2], [3, 4, 5]] * 2


def test_a_second_recorder_loses_nothing_of_the_first(tmp_path: Path) -> None:
    for seed in range(2):
        with dayshift.Recorder(tmp_path, parquet=True) as recorder, dayshift.Episode.open(TASK, seed=seed) as episode:
            episode.submit()
            recorder.record(episode.trajectory())

    tables = [pyarrow.parquet.read_table(tmp_path / name) for name in ("episodes.parquet", "episodes-2.parquet")]
    assert [table.column("seed").to_pylist() for table in tables] == [[0], [1]]
    assert len(list(load(tmp_path))) == 2


class _SlowConnection(AsyncConnection):
    """Hands an answer over a moment after it has come."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.is_answered = asyncio.Event()

    async def run(self, flow: Any) -> Any:
        answer = await super().run(flow)
        self.is_answered.set()
        await asyncio.sleep(0.1)
        return answer


def test_an_opening_that_is_cancelled_leaves_no_episode_behind(address: Address) -> None:
    async def cancel() -> tuple[set[str], set[str]]:
        async with _SlowConnection(address) as connection:
            before = await _list_open(connection)
            connection.is_answered.clear()
            opening = asyncio.create_task(AsyncEpisode.open(TASK, connection=connection))
            await connection.is_answered.wait()
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            return before, await _list_open(connection)

    before, after = asyncio.run(cancel())

    assert after <= before


async def _list_open(connection: AsyncConnection) -> set[str]:
    return {episode.episode_id for episode in (await connection.run(connection.address.control.live())).episodes}


async def _idle_seconds(connection: AsyncConnection, episode: AsyncEpisode) -> float:
    """Seconds since the last request of an episode, as of the watchdog's next look."""
    await asyncio.sleep(2.5)
    overview = await connection.run(connection.address.control.live())
    (idle,) = [each.idle_seconds for each in overview.episodes if each.episode_id == episode.id]
    return idle


def test_the_lease_of_an_episode_is_kept_while_its_agent_waits(address: Address) -> None:
    async def compare() -> tuple[float, float]:
        async with AsyncConnection(address) as connection, await AsyncEpisode.open(TASK, connection=connection) as one:
            alone = await _idle_seconds(connection, one)
            async with one.keep_alive(every=0.1):
                kept = await _idle_seconds(connection, one)
        return alone, kept

    alone, kept = asyncio.run(compare())

    assert kept < 1 < alone
