"""Gymnasium's own vectors and wrappers work around Dayshift's environments."""

import json
import pickle
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import numpy as np
import pytest
from dayshift.call_features import FEATURES
from dayshift.calls import SUBMIT
from dayshift.recordings import load
from dayshift.spaces import CallSpace
from dayshift.text_space import UnicodeText
from gymnasium.spaces.utils import flatten, flatten_space, unflatten
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

from tests.client.faulty_server import FaultyServer, answer
from tests.client.policies import solve
from tests.control.stack import TASK

LIST = dayshift.call("crm.contacts.list", limit=2)
FINISH = dayshift.call(SUBMIT)
ANY_ALPHABET = "Žofie 結衣 Ελένη שרה 😀 \u0000 \ud800"
_made: list[Any] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def make(env_id: str = "dayshift/Crm-v0", **options: Any) -> Any:
    _made.append(gymnasium.make(env_id, **{"task": TASK, **options}))
    return _made[-1]


def make_vec(env_id: str = "dayshift/Crm-v0", num_envs: int = 2, **options: Any) -> Any:
    _made.append(gymnasium.make_vec(env_id, num_envs, **{"task": TASK, **options}))
    return _made[-1]


def holds_none(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(holds_none, value.values()))
    return any(map(holds_none, value)) if isinstance(value, list) else value is None


@pytest.mark.usefixtures("address")
def test_no_info_holds_none() -> None:
    env = make()
    infos = [env.reset(seed=3)[1], *(env.step(action)[4] for action in (LIST, "nonsense", *solve(env.unwrapped)))]
    infos.append(env.step(FINISH)[4])

    assert not any(map(holds_none, infos))
    assert ["revision" in info for info in infos] == [False, True, False, True, False]
    assert "verdict" in infos[-1]


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
def test_every_kind_of_vector_gives_the_same(mode: str) -> None:
    many = make_vec(vectorization_mode=mode)
    observations, _ = many.reset(seed=3)
    actions = [many.single_action_space.encode(call) for call in (LIST, FINISH)]
    batch = {
        "operation": np.array([action["operation"] for action in actions]),
        "arguments": tuple(action["arguments"] for action in actions),
    }
    after, rewards, ended, _, infos = many.step(batch)

    assert observations in many.observation_space
    assert after in many.observation_space
    assert json.loads(after["body"][0])["results"]
    assert (rewards.tolist(), ended.tolist()) == ([0.0, 0.0], [False, True])
    assert infos["_verdict"].tolist() == [False, True]
    assert infos["verdict"]["outcome"][1] == "failed"
    assert infos["_revision"].tolist() == [True, False]
    sample = many.action_space.sample()
    assert sample in many.action_space
    assert all(isinstance(json.loads(arguments), dict) for arguments in sample["arguments"])
    many.step(sample)


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
def test_every_kind_of_vector_of_menus_gives_the_same(mode: str) -> None:
    many, single = make_vec("dayshift/Menu-v0", vectorization_mode=mode), make("dayshift/Menu-v0")
    observations, _ = many.reset(seed=3)
    alone = [single.reset(seed=seed)[0]["features"] for seed in (3, 4)]
    after, *_ = many.step(np.array([0, 1]))

    assert observations in many.observation_space
    assert np.array_equal(observations["features"], np.stack(alone))
    assert np.array_equal(after["features"][1], single.step(1)[0]["features"])


@pytest.mark.usefixtures("address")
def test_a_vector_of_menus_names_its_calls_and_masks_its_empty_rows() -> None:
    many = make_vec("dayshift/Menu-v0", k=30)
    with pytest.raises(gymnasium.error.ResetNeeded):
        many.action_masks()
    observations, _ = many.reset(seed=3)
    finish = [[call.operation for call in calls].index(SUBMIT) for calls in many.calls]

    assert np.array_equal(many.action_masks(), observations["offered"].astype(bool))
    assert [len(calls) for calls in many.calls] == many.action_masks().sum(axis=1).tolist()
    assert many.step(np.array(finish))[2].all()


@pytest.mark.usefixtures("address")
def test_a_menu_is_made_again_from_its_specification() -> None:
    menu = dayshift.Menu(make(split="test"), k=7)
    again = gymnasium.make(menu.spec)
    _made.append(again)
    first, _ = menu.reset(seed=5)
    second, info = again.reset(seed=5)

    assert again.action_space == menu.action_space == gymnasium.spaces.Discrete(7)
    assert np.array_equal(first["features"], second["features"])
    assert info["split"] == "test"


@pytest.mark.usefixtures("address")
def test_a_menu_masks_what_it_does_not_offer() -> None:
    menu = make("dayshift/Menu-v0", k=30)
    observation, _ = menu.reset(seed=1)
    masks = menu.get_wrapper_attr("action_masks")()

    assert masks.dtype == np.bool_
    assert np.array_equal(masks, observation["offered"].astype(bool))


def test_a_menu_of_one_row_is_refused() -> None:
    with pytest.raises(dayshift.UsageError, match="k=2 or more"):
        dayshift.menu_state.menu_space(1)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("address")
def test_observations_flatten() -> None:
    text, menu = gymnasium.wrappers.FlattenObservation(make(max_body_chars=5000)), make("dayshift/Menu-v0")
    numbers = gymnasium.wrappers.FlattenObservation(menu)
    text.reset(seed=3)
    observation, *_ = text.step(dayshift.call("crm.contacts.create", properties={"lastname": ANY_ALPHABET[:-1]}))

    assert observation in text.observation_space
    assert unflatten(text.unwrapped.observation_space, observation)["status"] == 201
    assert numbers.reset(seed=3)[0] in numbers.observation_space
    assert numbers.observation_space.shape == (12 * len(FEATURES) + 12,)


def test_a_text_of_any_alphabet_survives_flattening_and_shared_memory() -> None:
    space = UnicodeText(40)
    memory = create_shared_memory(space, n=2)
    for index, text in enumerate((ANY_ALPHABET, "")):
        write_to_shared_memory(space, index, text, memory)

    assert unflatten(space, flatten(space, ANY_ALPHABET)) == ANY_ALPHABET
    assert flatten(space, ANY_ALPHABET) in flatten_space(space)
    assert tuple(read_from_shared_memory(space, memory, n=2)) == (ANY_ALPHABET, "")


@pytest.mark.usefixtures("address")
def test_statistics_count_the_whole_reward() -> None:
    counted = gymnasium.wrappers.RecordEpisodeStatistics(make())
    counted.reset(seed=3)
    for call in solve(counted.unwrapped):
        counted.step(call)
    *_, info = counted.step(FINISH)

    assert (float(info["episode"]["r"]), int(info["episode"]["l"])) == (1.0, 2)


@pytest.mark.usefixtures("address")
def test_the_list_of_operations_is_that_of_the_action_space_whatever_the_task() -> None:
    env = make("dayshift/Office-v0", families="")
    before = env.unwrapped.operations.names
    env.reset(seed=3)
    index = env.action_space["operation"].n - 1

    assert env.unwrapped.operations is env.action_space.operations
    assert env.unwrapped.operations.names == before
    assert len(env.unwrapped.episode.operations) < len(before)
    assert env.unwrapped.operations.names[index] == SUBMIT
    beyond = env.unwrapped.operations.index("billing.invoices.list")
    assert env.step({"operation": beyond, "arguments": "{}"})[4]["refused"]
    assert env.step({"operation": index, "arguments": "{}"})[2]


@pytest.mark.usefixtures("address")
def test_a_bound_on_the_steps_judges_what_was_done(tmp_path: Path) -> None:
    with dayshift.Recorder(tmp_path) as recorder:
        env = make(recorder=recorder, max_steps=3)
        observation, _ = env.reset(seed=3)
        assert int(observation["steps_left"]) == 3
        for call in (LIST, LIST, *solve(env.unwrapped)):
            _, reward, terminated, truncated, info = env.step(call)

    (recorded,) = load(tmp_path)
    assert (terminated, truncated) == (False, True)
    assert reward == info["verdict"]["reward"] == recorded.reward
    assert recorded.ending == "passed"
    assert (recorded.manifest.max_steps, recorded.manifest.step_budget) == (3, 3)


@pytest.mark.usefixtures("address")
def test_a_vector_bounds_its_steps_too() -> None:
    many = make_vec(max_episode_steps=1)
    many.reset(seed=3)
    _, _, ended, cut, infos = many.step([LIST, LIST])

    assert (ended.any(), cut.all(), infos["_verdict"].all()) == (False, True, True)
    with pytest.raises(dayshift.UsageError, match="leaves no step"):
        dayshift.Episode.open(TASK, max_steps=0)


@pytest.mark.usefixtures("address")
def test_what_a_time_limit_cuts_is_judged_and_recorded(tmp_path: Path) -> None:
    with dayshift.Recorder(tmp_path) as recorder:
        env = gymnasium.wrappers.TimeLimit(make(recorder=recorder), 2)
        for seed in (3, 4):
            env.reset(seed=seed)
            for _ in range(2):
                *_, truncated, _ = env.step(LIST)
            assert truncated
        env.close()

    assert [(each.manifest.open.seed, each.ending) for each in load(tmp_path)] == [(3, "failed"), (4, "failed")]


def test_a_cut_episode_that_cannot_be_judged_is_quarantined(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "any")
    faulty_server.raw_submit = answer(500, body=b"{}")
    with dayshift.Recorder(tmp_path) as recorder:
        env = make(task="crm/any", control_url=faulty_server.address.url, recorder=recorder)
        env.reset(seed=1)
        env.step(LIST)
        env.close()

    assert [each.ending for each in load(tmp_path, quarantined=True)] == ["quarantined"]


def test_a_recorder_is_shared_by_copies_and_opened_again_in_another_process(tmp_path: Path) -> None:
    recorder = dayshift.Recorder(tmp_path)

    assert deepcopy(recorder) is recorder
    assert pickle.loads(pickle.dumps(recorder)).folder == tmp_path


@pytest.mark.usefixtures("address")
def test_a_copied_space_samples_what_the_original_samples() -> None:
    space = make().action_space
    assert isinstance(space, CallSpace)
    copy = pickle.loads(pickle.dumps(space))
    space.seed(4)
    copy.seed(4)

    assert [space.sample() for _ in range(3)] == [copy.sample() for _ in range(3)]
