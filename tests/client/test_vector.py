"""Many episodes behind one vector environment."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import numpy as np
import pytest
from dayshift.recordings import load
from gymnasium.vector import AutoresetMode

from tests.client.faulty_server import FaultyServer, answer
from tests.client.policies import find_correction
from tests.control.stack import TASK

LIST = dayshift.call("crm.contacts.list", limit=1)
SUBMIT = dayshift.call("submit")
_open_envs: list[Any] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while _open_envs:
        _open_envs.pop().close()


def make(num_envs: int = 3, **options: Any) -> Any:
    vector_env = gymnasium.make_vec(
        "dayshift/Crm-v0", num_envs=num_envs, vectorization_mode="vector_entry_point", **{"task": TASK, **options}
    )
    _open_envs.append(vector_env)
    return vector_env


@pytest.mark.usefixtures("address")
def test_each_slot_equals_a_single_environment() -> None:
    vector, single = make(), gymnasium.make("dayshift/Crm-v0", task=TASK)
    _open_envs.append(single)
    first, _ = vector.reset(seed=21)
    after, *_ = vector.step([LIST] * 3)

    for index in range(3):
        alone, _ = single.reset(seed=21 + index)
        assert first["brief"][index] == alone["brief"]
        assert after["body"][index] == single.step(LIST)[0]["body"]
    assert first in vector.observation_space
    assert after in vector.observation_space


@pytest.mark.usefixtures("address")
def test_step_takes_samples_of_the_batched_space() -> None:
    vector = make()
    vector.reset(seed=1)

    sample = vector.action_space.sample()
    observations, rewards, *_ = vector.step(sample)

    assert sample in vector.action_space
    assert all(isinstance(json.loads(arguments), dict) for arguments in sample["arguments"])
    assert all(int(status) for status in observations["status"])
    assert observations in vector.observation_space
    assert rewards.shape == (3,)


@pytest.mark.usefixtures("address")
def test_next_step_autoreset_resets_one_step_later() -> None:
    vector = make()
    first, _ = vector.reset(seed=4)
    _, _, ended, cut, infos = vector.step([SUBMIT, LIST, LIST])
    assert (ended.tolist(), cut.tolist()) == ([True, False, False], [False] * 3)
    assert infos["verdict"]["outcome"][0] == "failed"
    assert infos["_verdict"].tolist() == [True, False, False]

    anew, rewards, ended, _, infos = vector.step([LIST, LIST, LIST])

    assert not ended.any()
    assert rewards[0] == 0.0
    assert (int(anew["status"][0]), int(anew["status"][1])) == (0, 200)
    assert int(infos["seed"][0]) != 4
    assert int(anew["steps_left"][0]) == int(first["steps_left"][0])


@pytest.mark.usefixtures("address")
def test_same_step_autoreset_returns_the_last_observation() -> None:
    vector = make(autoreset_mode=AutoresetMode.SAME_STEP)
    vector.reset(seed=4)

    observations, _, ended, _, infos = vector.step([SUBMIT, LIST, LIST])

    assert ended.tolist() == [True, False, False]
    assert infos["final_info"]["verdict"]["outcome"][0] == "failed"
    assert infos["_final_obs"].tolist() == [True, False, False]
    assert int(infos["final_obs"][0]["status"]) == 200
    assert int(observations["status"][0]) == 0
    vector.step([LIST] * 3)


@pytest.mark.usefixtures("address")
def test_without_autoreset_the_caller_resets_by_mask() -> None:
    vector = make(autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=4)
    vector.step([SUBMIT, LIST, LIST])
    with pytest.raises(gymnasium.error.ResetNeeded):
        vector.step([LIST] * 3)

    observations, _ = vector.reset(seed=50, options={"reset_mask": np.array([True, False, False])})

    assert int(observations["status"][0]) == 0
    vector.step([LIST] * 3)


@pytest.mark.usefixtures("address")
def test_rewards_are_exactly_the_verdicts() -> None:
    vector = make(num_envs=2)
    vector.reset(seed=8)
    calls = [find_correction(dayshift.OpenRequest(task=TASK, seed=seed))[0] for seed in (8, 9)]
    vector.step(calls)

    _, rewards, ended, _, infos = vector.step([SUBMIT, SUBMIT])

    assert ended.all()
    assert rewards.tolist() == [1.0, 1.0] == infos["verdict"]["reward"].tolist()


def test_a_fault_in_one_slot_does_not_affect_the_others(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "any")
    faulty_server.script = [answer(500, revision=None), answer()]
    with dayshift.Recorder(tmp_path) as recorder:
        vector = make(task="crm/any", control_url=faulty_server.address.url, on_fault="quarantine", recorder=recorder)
        vector.reset(seed=1)
        _, rewards, ended, cut, infos = vector.step([LIST] * 3)

    assert (cut.sum(), ended.sum(), rewards.tolist()) == (1, 0, [0.0] * 3)
    assert infos["_quarantined"].tolist() == cut.tolist()
    assert list(load(tmp_path)) == []
    assert len(list(load(tmp_path, quarantined=True))) == 1


def test_a_fault_is_raised_with_on_fault_raise(faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "any")
    faulty_server.script = [answer(500, revision=None), answer()]
    vector = make(task="crm/any", control_url=faulty_server.address.url)
    vector.reset(seed=1)

    with pytest.raises(dayshift.ServiceError):
        vector.step([LIST] * 3)
