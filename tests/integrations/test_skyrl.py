"""skyrl-gym makes and steps the environment."""

import pytest

from tests.control.stack import Stack
from tests.integrations.conftest import ROOT, Judge

pytestmark = pytest.mark.integration
JUDGE = "skyrl"


def test_the_example_plays_an_episode_to_its_reward(judge: Judge) -> None:
    output = judge.run(ROOT / "examples/skyrl_episode.py")

    assert output.splitlines()[-1] == "passed: 1.0, reward 1.0"


def test_skyrl_plays_an_episode_to_its_reward_and_a_fault_raises(judge: Judge, breakable: Stack) -> None:
    result = judge.of(breakable).run_script("skyrl_episode.py", breakable.children()["crm"])

    assert (result["reward"], result["metrics"]["passed"]) == (1.0, 1.0)
    assert "not JSON" in result["garbled"]
    assert "HarnessFault" in result["fault"]
