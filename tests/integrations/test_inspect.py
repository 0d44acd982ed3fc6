"""inspect_ai runs the task with its mock model and shows the log."""

import json
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.control.stack import Stack, eventually, free_base
from tests.integrations.conftest import SCRIPTS, Judge, count_open

pytestmark = pytest.mark.integration
JUDGE = "inspect"


def test_inspect_evaluates_to_the_verdicts_rewards_and_its_viewer_opens_the_log(judge: Judge, tmp_path: Path) -> None:
    result = judge.run_script("inspect_eval.py", tmp_path, 0)

    assert (result["status"], result["values"], result["mean"]) == ("success", ["1.0", "1.0"], "1.0")
    assert (result["scored"], result["unscored"]) == (2, 0)
    assert result["described"] == "mean reward 1.000 of 2 samples, 0 unscored"
    assert count_open(judge.stack) == 0
    assert _list_logs(judge, tmp_path) == [file.name for file in tmp_path.glob("*.eval")]


def test_an_environment_fault_is_unscored_and_outside_of_every_metric(
    judge: Judge, breakable: Stack, tmp_path: Path
) -> None:
    result = judge.of(breakable).run_script("inspect_eval.py", tmp_path, breakable.children()["crm"])

    assert (result["status"], result["values"]) == ("success", ["nan"])
    assert result["reasons"] == ["environment_error"]
    assert (result["scored"], result["unscored"]) == (0, 1)
    assert "crm" in result["explanations"][0] or "connection" in result["explanations"][0]


def test_the_command_line_of_inspect_evaluates_the_task_by_its_name(judge: Judge, tmp_path: Path) -> None:
    options = ("--model", "scripted/solver", "-T", "seeds=2", "--log-dir", tmp_path, "--display", "plain")
    judge.run(SCRIPTS / "inspect_command.py", "eval", "dayshift/office_work", *options)
    [log] = tmp_path.glob("*.eval")
    dumped = json.loads(judge.run_tool("inspect", "log", "dump", log))

    assert dumped["status"] == "success"
    assert [sample["id"] for sample in dumped["samples"]] == ["crm/correct-contact#0", "crm/correct-contact#1"]
    assert [sample["scores"]["dayshift"]["value"] for sample in dumped["samples"]] == [1.0, 1.0]


def _list_logs(judge: Judge, folder: Path) -> list[str]:
    """The names of the logs that a running `inspect view` serves."""
    port = free_base()
    viewer = subprocess.Popen(
        [judge.python.parent / "inspect", "view", "start", "--log-dir", folder, "--port", str(port)],
        env=judge.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        answers: list[httpx.Response] = []

        def answered() -> bool:
            try:
                answers.append(httpx.get(f"http://127.0.0.1:{port}/api/logs", trust_env=False, timeout=30))
            except httpx.ConnectError:
                return False
            return True

        eventually(answered, seconds=240)
        return [Path(file["name"]).name for file in answers[-1].json()["files"]]
    finally:
        viewer.terminate()
        viewer.wait(30)
