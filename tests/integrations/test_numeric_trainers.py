"""Numeric trainers learn from menus, each in a virtual environment of its own; run by `make integrations`."""

import json
import re
from pathlib import Path

import pytest

from tests.client.faulty_server import FaultyServer
from tests.company import WORLD
from tests.control.stack import TASK
from tests.integrations.numeric import EXAMPLES, OPTIONS, PROGRAMS, Trainer

pytestmark = pytest.mark.integration
JUDGE = "sb3"


@pytest.mark.parametrize("program", ["sb3_ppo", "maskable_ppo"])
def test_stable_baselines_trains(trainer: Trainer, program: str) -> None:
    result = trainer.train(program, OPTIONS)

    assert (result["rows"], result["left_out"]) == (128, 0)
    assert float(result["dayshift/unscored_rate"]) == 0.0
    assert -1.0 <= float(result["dayshift/reward"]) <= 1.0
    assert {"dayshift/pass_rate", "dayshift/flagged_rate", "dayshift/episodes"} <= result.keys()


def test_maskable_ppo_chooses_offered_rows_only_and_its_policy_changes(trainer: Trainer) -> None:
    result = trainer.train("maskable_ppo", {**OPTIONS, "k": 30})

    assert result["chose_offered"]
    assert result["changed"]


def test_the_example_with_tianshou_trains(trainer: Trainer) -> None:
    arguments = ("--world", WORLD, "--epochs", "1", "--steps", "128", "--envs", "2")
    output = trainer.run(EXAMPLES / "train_tianshou.py", *arguments)

    assert re.fullmatch(r"128 steps, \d+ episodes; reward [+-][01]\.\d+ afterwards", output.splitlines()[-1])


def test_a_file_in_the_manner_of_cleanrl_trains(trainer: Trainer) -> None:
    arguments = ("--world", WORLD, "--steps", "256", "--envs", "4", "--rollout", "32")
    output = trainer.run(EXAMPLES / "train_cleanrl.py", *arguments)

    assert len(output.splitlines()) == 2
    assert "'learned': 128, 'of': 128" in output


def test_the_example_writes_a_curve_a_manifest_and_scalars(trainer: Trainer, tmp_path: Path) -> None:
    size = ("--world", WORLD, "--steps", "256", "--envs", "4", "--seeds", "2", "--held-out", "4")
    families = ("--families", f"{TASK},crm/log-call", "--curriculum")
    output = trainer.run(EXAMPLES / "train_sb3.py", *size, *families, "--into", str(tmp_path))
    manifest = json.loads((tmp_path / "experiment.json").read_text())

    assert "mean of 2 seeds" in output
    assert (tmp_path / "curve.png").stat().st_size > 10_000
    assert manifest["seeds"] == [0, 1]
    assert {"dayshift", "stable-baselines3", "torch", "python"} <= manifest["versions"].keys()
    assert manifest["fingerprints"][TASK]
    assert [state["seed"] for state in manifest["curriculum"]] == [0, 1]
    assert all(min(state["episodes"].values()) > 0 for state in manifest["curriculum"])
    assert len(manifest["git"]["commit"]) == 40
    assert [len(curve) > 0 for curve in manifest["results"]["curves"]] == [True, True]
    assert list(tmp_path.glob("tensorboard/seed-1/*"))


@pytest.mark.parametrize("program", ["sb3_ppo", "maskable_ppo", "tianshou_ppo"])
def test_no_trainer_learns_from_an_unscored_episode(
    trainer: Trainer, broken_at_times: FaultyServer, program: str
) -> None:
    result = trainer.of(broken_at_times).train(program, {"task": "crm/any"})

    assert result["left_out"] > 0
    assert result["rows"] == 128 - result["left_out"]
    assert int(result.get("cut", 0)) == int(result.get("drawn_cut", 0)) == 0
    # The reward is that of the scored episodes alone: all of them earned 1.
    assert float(result.get("dayshift/reward", 1.0)) == 1.0


def test_the_file_in_the_manner_of_cleanrl_does_not_learn_from_an_unscored_episode(
    trainer: Trainer, broken_at_times: FaultyServer
) -> None:
    arguments = ("--task", "crm/any", "--steps", "128", "--envs", "2", "--rollout", "64")
    output = trainer.of(broken_at_times).run(EXAMPLES / "train_cleanrl.py", *arguments)

    assert "'of': 128" in output
    assert "'learned': 128" not in output
    assert "'reward': 1.0" in output


def test_the_trackers_hold_what_was_logged(trainer: Trainer, tmp_path: Path) -> None:
    logged = json.loads(trainer.run(PROGRAMS / "trackers.py", str(tmp_path)).splitlines()[-1])
    expected = {
        "dayshift/reward": 0.4,
        "dayshift/pass_rate": 1 / 3,
        "dayshift/unscored_rate": 0.25,
        "dayshift/flagged_rate": 1 / 3,
        "dayshift/flags/collateral": 1.0,
    }

    for tracker in ("tensorboard", "mlflow", "wandb"):
        for name, value in expected.items():
            assert logged[tracker][name] == pytest.approx(value), (tracker, name)
    assert logged["wandb_files"] == 1
