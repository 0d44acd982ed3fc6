"""Many episodes behind one vector environment."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import numpy as np
import pytest
from dayshift.recordings import load
from gymnasium.vector import AutoresetMode

from tests.client.bad_house import BadHouse, answer
from tests.client.tricks import correction
from tests.control.stack import TASK

LIST = dayshift.call("crm.contacts.list", limit=1)
SUBMIT = dayshift.call("submit")
_made: list[Any] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def make(num_envs: int = 3, **options: Any) -> Any:
    made = gymnasium.make_vec(
        "dayshift/Crm-v0", num_envs=num_envs, vectorization_mode="vector_entry_point", **{"task": TASK, **options}
    )
    _made.append(made)
    return made


@pytest.mark.usefixtures("address")
def test_each_place_is_the_same_as_a_single_environment() -> None:
    many, one = make(), gymnasium.make("dayshift/Crm-v0", task=TASK)
    _made.append(one)
    first, _ = many.reset(seed=21)
    after, *_ = many.step([LIST] * 3)

    for place in range(3):
        alone, _ = one.reset(seed=21 + place)
        assert first["brief"][place] == alone["brief"]
        assert after["body"][place] == one.step(LIST)[0]["body"]
    assert first in many.observation_space
    assert after in many.observation_space


@pytest.mark.usefixtures("address")
def test_samples_of_the_batched_space_are_taken() -> None:
    many = make()
    many.reset(seed=1)

    observations, rewards, *_ = many.step(many.action_space.sample())

    assert observations in many.observation_space
    assert rewards.shape == (3,)


@pytest.mark.usefixtures("address")
def test_next_step_autoreset_begins_anew_one_step_later() -> None:
    many = make()
    first, _ = many.reset(seed=4)
    _, _, ended, cut, infos = many.step([SUBMIT, LIST, LIST])
    assert (ended.tolist(), cut.tolist()) == ([True, False, False], [False] * 3)
    assert infos["verdict"][0]["outcome"] == "failed"
    assert infos["verdict"][1] is None

    anew, rewards, ended, _, infos = many.step([LIST, LIST, LIST])

    assert not ended.any()
    assert rewards[0] == 0.0
    assert (int(anew["status"][0]), int(anew["status"][1])) == (0, 200)
    assert int(infos["seed"][0]) != 4
    assert int(anew["steps_left"][0]) == int(first["steps_left"][0])


@pytest.mark.usefixtures("address")
def test_same_step_autoreset_hands_over_the_last_observation() -> None:
    many = make(autoreset_mode=AutoresetMode.SAME_STEP)
    many.reset(seed=4)

    observations, _, ended, _, infos = many.step([SUBMIT, LIST, LIST])

    assert ended.tolist() == [True, False, False]
    assert infos["final_info"]["verdict"][0]["outcome"] == "failed"
    assert infos["_final_obs"].tolist() == [True, False, False]
    assert int(infos["final_obs"][0]["status"]) == 200
    assert int(observations["status"][0]) == 0
    many.step([LIST] * 3)


@pytest.mark.usefixtures("address")
def test_without_autoreset_the_caller_says_which_begin_anew() -> None:
    many = make(autoreset_mode=AutoresetMode.DISABLED)
    many.reset(seed=4)
    many.step([SUBMIT, LIST, LIST])
    with pytest.raises(gymnasium.error.ResetNeeded):
        many.step([LIST] * 3)

    observations, _ = many.reset(seed=50, options={"reset_mask": np.array([True, False, False])})

    assert int(observations["status"][0]) == 0
    many.step([LIST] * 3)


@pytest.mark.usefixtures("address")
def test_rewards_are_the_verdicts_to_the_last_bit() -> None:
    many = make(num_envs=2)
    many.reset(seed=8)
    calls = [correction(dayshift.OpenRequest(task=TASK, seed=seed))[0] for seed in (8, 9)]
    many.step(calls)

    _, rewards, ended, _, infos = many.step([SUBMIT, SUBMIT])

    assert ended.all()
    assert rewards.tolist() == [1.0, 1.0] == [verdict["reward"] for verdict in infos["verdict"]]


def test_a_fault_in_one_place_leaves_the_others_alone(
    bad_house: BadHouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "any")
    bad_house.script = [answer(500, revision=None), answer()]
    with dayshift.Recorder(tmp_path) as recorder:
        many = make(task="crm/any", control_url=bad_house.address.url, on_fault="quarantine", recorder=recorder)
        many.reset(seed=1)
        _, rewards, ended, cut, infos = many.step([LIST] * 3)

    assert (cut.sum(), ended.sum(), rewards.tolist()) == (1, 0, [0.0] * 3)
    assert sum(why is not None for why in infos["quarantined"]) == 1
    assert list(load(tmp_path)) == []
    assert len(list(load(tmp_path, quarantined=True))) == 1


def test_a_fault_is_raised_where_that_was_chosen(bad_house: BadHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "any")
    bad_house.script = [answer(500, revision=None), answer()]
    many = make(task="crm/any", control_url=bad_house.address.url)
    many.reset(seed=1)

    with pytest.raises(dayshift.ServiceBroke):
        many.step([LIST] * 3)
