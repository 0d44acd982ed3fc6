"""DayshiftEnv follows Gymnasium's contract."""

import warnings
from collections.abc import Iterator
from typing import Any

import dayshift
import gymnasium
import numpy as np
import pytest
from dayshift.connection import Address, Connection
from dayshift.spaces import observation_space, shorten
from dayshift.task_sampling import list_eligible_tasks, sample_task
from dayshift.text_space import UnicodeText
from dayshift.wire import Budget, Families, Family, Split
from gymnasium.utils.env_checker import check_env

from tests.client.policies import solve
from tests.control.stack import TASK

pytestmark = pytest.mark.usefixtures("address")


_made: list[gymnasium.Env[Any, Any]] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def make(task: str | None = TASK, **options: Any) -> gymnasium.Env[Any, Any]:
    _made.append(gymnasium.make("dayshift/Crm-v0", task=task, **options))
    return _made[-1]


def test_gymnasiums_checker_accepts_the_environment() -> None:
    env = make(render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_the_same_seed_and_calls_give_the_same_results() -> None:
    env = make()

    def played() -> list[Any]:
        first = env.reset(seed=11)
        calls = (dayshift.call("crm.contacts.list", limit=2), dayshift.call("nonsense"), dayshift.call("submit"))
        return [first, *(env.step(call) for call in calls)]

    first, second = played(), played()

    assert gymnasium.utils.env_checker.data_equivalence(first, second, exact=True)
    assert make().reset(seed=12)[0]["brief"] != first[0][0]["brief"]


def test_the_reward_of_a_solved_task_is_exactly_the_verdicts() -> None:
    env = make()
    env.reset(seed=3)
    rewards = [env.step(call)[1] for call in solve(env.unwrapped)]

    observation, reward, terminated, truncated, info = env.step(dayshift.call("submit"))

    assert rewards == [0.0] * len(rewards)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["verdict"]["reward"] == reward
    assert observation in env.observation_space


def test_the_reward_after_a_stray_change_is_exactly_the_verdicts() -> None:
    env = make()
    env.reset(seed=3)
    for call in solve(env.unwrapped):
        env.step(call)
    env.step(dayshift.call("crm.contacts.create", properties={"lastname": "Nobody asked"}))

    _, reward, _, _, info = env.step(dayshift.call("submit"))

    assert reward == info["verdict"]["reward"] < 1.0
    assert len(info["verdict"]["collateral"]) == 1


def test_the_budget_ends_the_episode_with_a_verdict() -> None:
    env = make()
    observation, _ = env.reset(seed=3)
    steps = int(observation["steps_left"])

    for left in range(steps - 1, -1, -1):
        observation, reward, terminated, truncated, info = env.step(dayshift.call("crm.contacts.list", limit=1))
        assert int(observation["steps_left"]) == left

    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["verdict"]["outcome"] == "failed"
    assert "quarantined" not in info


def test_a_call_by_name_and_a_call_by_index_are_the_same() -> None:
    env = make()
    call = dayshift.call("crm.contacts.get", contactId="101")
    encoded = env.unwrapped.encode(call)  # type: ignore[attr-defined]
    answers = []
    for action in (call, call.as_action(), encoded):
        env.reset(seed=5)
        answers.append(env.step(action)[0]["body"])

    assert encoded in env.action_space
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(
    "action",
    [
        {"operation": "no.such", "arguments": {}},
        {"operation": "crm.contacts.get", "arguments": "{broken"},
        {"operation": "crm.contacts.get", "arguments": "[1]"},
        {"operation": "crm.contacts.get", "arguments": '{"contactId": NaN}'},
        {"operation": 10_000, "arguments": "{}"},
        {"arguments": {}},
        {"operation": "submit", "arguments": {"colour": "red"}},
        "just text",
        None,
    ],
)
def test_a_malformed_call_gets_an_answer_and_costs_a_step(action: object) -> None:
    env = make()
    before, _ = env.reset(seed=5)
    after, reward, terminated, truncated, info = env.step(action)

    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (int(after["status"]), info["refused"]) == (0, True)
    assert after["body"]
    assert int(after["steps_left"]) == int(before["steps_left"]) - 1


def test_answers_in_any_alphabet_are_members_of_the_space() -> None:
    env = make()
    env.reset(seed=5)
    name = "Žofie 結衣 Ελένη שרה 😀 \u0000"
    observation, *_ = env.step(dayshift.call("crm.contacts.create", properties={"lastname": name}))

    assert observation in env.observation_space


def test_a_long_answer_is_cut_and_info_marks_it() -> None:
    env = make(max_body_chars=300)
    env.reset(seed=5)

    observation, *_, info = env.step(dayshift.call("crm.contacts.list", limit=50))

    assert 200 < len(observation["body"]) <= 300
    assert "[Shortened: the whole answer has" in observation["body"]
    assert "fewer at once with limit" in observation["body"]
    assert info["shortened"]
    assert observation in env.observation_space


def test_shortening_accounts_for_every_character() -> None:
    text = "x" * 1000

    cut = shorten(text, 100)

    length = cut.count("x")
    assert len(cut) <= 100
    assert f"{1000 - length} more" in cut
    assert shorten(text, 1000) == text


def test_the_text_space_takes_any_text_up_to_its_length() -> None:
    space = UnicodeText(5, seed=1)

    assert "日本 語" in space
    assert "123456" not in space
    assert 5 not in space
    assert all(space.sample() in space for _ in range(50))
    assert space == UnicodeText(5) != UnicodeText(6)
    assert observation_space(10) == observation_space(10) != observation_space(11)


def test_samples_are_calls_inside_the_space_that_products_understand() -> None:
    env = make()
    env.reset(seed=5)
    env.action_space.seed(2)
    statuses = set()
    for _ in range(40):
        action = env.action_space.sample()
        assert action in env.action_space
        observation, _, terminated, truncated, _ = env.step(action)
        statuses.add(int(observation["status"]))
        if terminated or truncated:
            env.reset()

    assert statuses & {200, 201, 204}


def seed_that_draws(task: str, split: Split) -> int:
    """The first seed to which this family falls: other families may need more than this small world holds."""
    with Connection() as connection:
        drawable = list_eligible_tasks(connection.run(connection.address.control.families()), ("crm",), split)
    return next(seed for seed in range(10_000) if sample_task(drawable, seed) == task)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_without_a_task_the_seed_samples_a_family_of_the_split(split: Split) -> None:
    env = make(task=None, split=split)
    seed = seed_that_draws(TASK, split)

    drawn = [env.reset(seed=seed)[1] for _ in range(2)]

    assert [(info["task"], info["split"]) for info in drawn] == [(TASK, split)] * 2


def test_a_split_in_the_options_of_reset_samples_from_its_own_families() -> None:
    env = make(task=None)
    for split in ("train", "test", "train"):
        _, info = env.reset(seed=seed_that_draws(TASK, split), options={"split": split})
        assert (info["task"], info["split"]) == (TASK, split)


def test_sampling_reaches_every_family_that_the_products_can_serve_and_no_other() -> None:
    def family(name: str, *products: str, split: Split = "train") -> Family:
        budget = Budget(steps=1, hours=0)
        return Family(id=name, products=list(products), split=[split], title="", instances={split: 1}, budget=budget)

    offered = Families(
        families=[family("b", "crm"), family("a", "crm"), family("c", "crm", "desk"), family("d", "crm", split="test")]
    )
    alone, together = list_eligible_tasks(offered, ("crm",), "train"), list_eligible_tasks(offered, (), "train")

    assert (alone, together) == (["a", "b"], ["a", "b", "c"])
    assert list_eligible_tasks(offered, (), "train", ("a", "c")) == ["a", "c"]
    assert {sample_task(together, seed) for seed in range(50)} == {"a", "b", "c"}
    with pytest.raises(dayshift.UsageError, match="no task of the validation split"):
        list_eligible_tasks(offered, (), "validation")


def test_options_choose_the_split_of_one_reset() -> None:
    env = make()

    assert env.reset(seed=1, options={"split": "test"})[1]["split"] == "test"
    assert env.reset(seed=1)[1]["split"] == "train"


def test_resets_without_a_seed_continue_from_the_last_seed() -> None:
    env = make()
    runs = []
    for _ in range(2):
        env.reset(seed=9)
        runs.append([env.reset()[1]["seed"] for _ in range(3)])

    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3


def test_rendering_shows_the_brief_the_step_and_the_verdict() -> None:
    env = make(render_mode="ansi")
    observation, _ = env.reset(seed=3)
    opening = env.render()
    env.step(dayshift.call("crm.contacts.list", limit=1))
    step = env.render()
    env.step(dayshift.call("submit"))
    verdict = env.render()

    assert observation["brief"] in str(opening)
    assert "GET /crm/v3/objects/contacts?limit=1 → 200" in str(step)
    assert "failed: 0.0" in str(verdict)


def test_a_step_before_a_reset_or_after_the_end_raises() -> None:
    env = make().unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(dayshift.call("submit"))
    env.reset(seed=1)
    env.step(dayshift.call("submit"))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(dayshift.call("submit"))


def test_an_unknown_task_is_the_callers_mistake(address: Address) -> None:
    env = make(task="crm/nobody-wrote-this", control_url=address.url)

    with pytest.raises(dayshift.ControlRefused, match="nobody-wrote-this"):
        env.reset(seed=1)


def test_the_operations_of_an_environment_are_tool_definitions() -> None:
    env = make()

    names = [tool["name"] for tool in env.unwrapped.operations.anthropic_tools()]  # type: ignore[attr-defined]

    assert "crm_contacts_get" in names
    assert names[-2:] == ["come_back_later", "finish_work"]
    assert isinstance(env.action_space["operation"], gymnasium.spaces.Discrete)  # type: ignore[index]
    assert int(env.action_space["operation"].n) == len(names)  # type: ignore[index]
    assert np.int64(0) in env.action_space["operation"]  # type: ignore[index]


def test_a_missing_stack_raises_at_once_and_leaves_no_connection_open() -> None:
    with pytest.raises(dayshift.Unreachable, match="no stack listens there: start one"):
        make(control_url="http://127.0.0.1:1")
    with pytest.raises(dayshift.Unreachable):
        gymnasium.make_vec("dayshift/Crm-v0", vectorization_mode="vector_entry_point", control_url="http://127.0.0.1:1")
