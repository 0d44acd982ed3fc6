"""RLlib learns from menus and leaves unscored episodes out; run by `make integrations`."""

import re

import pytest

from tests.client.faulty_server import FaultyServer
from tests.company import WORLD
from tests.integrations.numeric import EXAMPLES, Trainer

pytestmark = pytest.mark.integration
JUDGE = "rllib"


def test_the_example_trains_with_two_environments_in_each_runner(trainer: Trainer) -> None:
    arguments = ("--world", WORLD, "--iterations", "2", "--batch", "128", "--runners", "2", "--envs", "2")
    output = trainer.run(EXAMPLES / "train_rllib.py", *arguments)

    reports = re.findall(r"^iteration \d: (\d+) steps, reward (\S+), passed \d+%, unscored 0%$", output, re.MULTILINE)
    assert "2 runners with 2 environments each" in output
    assert [int(steps) >= number * 128 for number, (steps, _) in enumerate(reports, 1)] == [True, True]
    assert all(-1.0 <= float(reward) <= 1.0 for _, reward in reports)


def test_rllib_does_not_learn_from_an_unscored_episode(trainer: Trainer, broken_at_times: FaultyServer) -> None:
    result = trainer.of(broken_at_times).train("rllib_ppo", {"task": "crm/any"})

    assert sum(sample["left_out"] for sample in result["given"]) > 0
    assert all(sample["unscored"] == 0 for sample in result["given"])
