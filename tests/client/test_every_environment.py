"""Gymnasium's checker accepts every environment that this package registers."""

import warnings
from collections.abc import Iterator
from typing import Any

import dayshift
import gymnasium
import pytest
from dayshift.registration import PRODUCTS
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from tests.company import WORLD, small_company
from tests.control.stack import TOKEN, Stack

IDS = sorted(env_id for env_id in gymnasium.registry if env_id.startswith("dayshift/"))


def finish(_situation: object) -> dayshift.Call:
    return dayshift.call("finish_work")


def report(_situation: object) -> dayshift.Call:
    return dayshift.call("report", text="done")


# What the two levels of a team need besides.
TEAM: dict[str, dict[str, Any]] = {
    "dayshift/Orchestrator-v0": {
        "specialists": dict.fromkeys(PRODUCTS, report),
    },
    "dayshift/Specialist-v0": {"product": "crm", "orchestrator": finish},
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(small_company(tmp_path_factory), {"DAYSHIFT_WITHOUT": ""}).start()
    yield started
    started.stop()


@pytest.fixture(autouse=True)
def address(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", f"http://127.0.0.1:{stack.base}")
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", TOKEN)


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasiums_checker_accepts(env_id: str) -> None:
    env = gymnasium.make(env_id, world=WORLD, **TEAM.get(env_id, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A menu is a wrapper, which the checker takes and warns of.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env.unwrapped if env_id != "dayshift/Menu-v0" else env)
    env.close()


@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
@pytest.mark.parametrize("env_id", [env_id for env_id in IDS if env_id not in TEAM])
def test_every_kind_of_its_vector_takes_its_own_samples_and_keeps_statistics(env_id: str, mode: str) -> None:
    many = RecordEpisodeStatistics(
        gymnasium.make_vec(env_id, 2, vectorization_mode=mode, world=WORLD, max_steps=1)  # type: ignore[arg-type]
    )
    observations, _ = many.reset(seed=1)
    after, rewards, terminated, truncated, infos = many.step(many.action_space.sample())
    many.close()

    assert observations in many.observation_space
    assert after in many.observation_space
    assert (terminated | truncated).all()
    assert infos["episode"]["r"] == pytest.approx(rewards)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("env_id", TEAM)
def test_both_levels_of_a_team_step_in_gymnasiums_own_vectors(env_id: str, mode: str) -> None:
    many = gymnasium.make_vec(env_id, 2, vectorization_mode=mode, world=WORLD, **TEAM[env_id])  # type: ignore[arg-type]
    observations, _ = many.reset(seed=1)
    after, rewards, *_ = many.step(many.action_space.sample())
    many.close()

    assert observations in many.observation_space
    assert after in many.observation_space
    assert rewards.shape == (2,)
