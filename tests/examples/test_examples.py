"""Every example runs, as its first lines say, against one stack."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dayshift
import pytest
from dayshift.aec import TeamEnv

from tests.company import WORLD, small_company
from tests.control.stack import TOKEN, Stack

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# Run elsewhere: by the client's tests, and by hand on a quiet machine.
ELSEWHERE = {"quickstart.py", "train_menu.py", "bench_client.py"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(small_company(tmp_path_factory), {"DAYSHIFT_WITHOUT": ""}).start()
    yield started
    started.stop()


def run(stack: Stack, example: str, *arguments: str) -> str:
    here = {"DAYSHIFT_CONTROL_URL": f"http://127.0.0.1:{stack.base}", "DAYSHIFT_CONTROL_TOKEN": TOKEN}
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, *arguments],
        env={**os.environ, **here},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ("sdk_crm.py", "passed, reward 1.0"),
        ("sdk_desk_and_billing.py", "passed, reward 1.0"),
        ("sdk_ide.py", "failed, reward 0.0"),
    ],
)
def test_an_episode_is_worked_on_with_the_vendors_own_clients(stack: Stack, example: str, said: str) -> None:
    assert said in run(stack, example, "--world", WORLD)


def test_many_episodes_at_once_are_recorded_and_play_again_to_the_same_bytes(stack: Stack, tmp_path: Path) -> None:
    said = run(stack, "vector_rollouts.py", "--world", WORLD, "--episodes", "20", "--into", str(tmp_path))
    again = run(stack, "replay_trajectory.py", str(tmp_path))

    assert "{'passed': 20}" in said
    assert re.findall(r"same: (\w+)\ngraded again: (\w+)", again) == [("True", "passed")] * 3


def test_specialists_learn_first_and_then_their_orchestrator(stack: Stack, tmp_path: Path) -> None:
    few = ("--world", WORLD, "--lessons", "6", "--episodes", "24", "--plot", str(tmp_path / "team.png"))
    said = run(stack, "train_team.py", *few)

    first, last = map(float, re.findall(r"first ([+-][\d.]+), .* ([+-][\d.]+);", said)[0])
    learnt = dict(re.findall(r"^(\w+): ([^+-]+) \+1\.00", said, re.MULTILINE))
    assert set(learnt) == {"billing", "crm", "desk"}
    assert first < 0.5 < last
    assert (tmp_path / "team.png").read_bytes().startswith(b"\x89PNG")


def test_a_team_is_given_work_that_spans_products_and_an_agent_for_each(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", TOKEN)
    env = TeamEnv(world=WORLD, control_url=f"http://127.0.0.1:{stack.base}")
    env.reset(seed=3)
    task, products = env.infos["orchestrator"]["task"], set(env.agents[1:])
    env.step(dayshift.call("ask_desk", request="Who are we?"))
    for call in (dayshift.call("desk.users.me"), dayshift.call("crm.owners.list"), dayshift.call("report", text="Us.")):
        assert env.agent_selection == "desk"
        env.step(call)
    heard = json.loads(env.observe("orchestrator")["body"])
    env.close()

    assert env.possible_agents == ["orchestrator", "billing", "crm", "desk", "ide"]
    assert task.startswith("office/")
    assert products >= {"billing", "crm", "desk"}
    assert (heard["report"], heard["refused"]) == ("Us.", [{"operation": "crm.owners.list", "status": 0}])


def test_no_example_is_left_out() -> None:
    here = Path(__file__).read_text()
    there = {path.name for path in EXAMPLES.glob("*.py")}

    assert {name for name in there if f'"{name}"' not in here} == set()
    assert there >= ELSEWHERE
