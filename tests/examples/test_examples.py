"""Every example runs against one stack, with the command of its docstring."""

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
from tests.scripted_provider import ScriptedProvider

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# tests/client runs the first two, tests/integrations the next ones, of which scripted_agent.py is a part; the last is
# run by hand on an idle machine.
NOT_RUN_HERE = {
    "quickstart.py",
    "train_menu.py",
    "scripted_agent.py",
    "openenv_client.py",
    "nemo_gym_rollout.py",
    "inspect_eval.py",
    "skyrl_episode.py",
    "ors_client.py",
    "hud_rollout.py",
    "harbor_agent.py",
    "mcp_agent.py",
    "train_trl.py",
    "train_cleanrl.py",
    "train_sb3.py",
    "agent_mini_swe.py",
    "agent_aider.py",
    "train_rllib.py",
    "train_tianshou.py",
    "bench_client.py",
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(small_company(tmp_path_factory), {"DAYSHIFT_WITHOUT": ""}).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    started = ScriptedProvider().start()
    yield started
    started.stop()


def run(stack: Stack, example: str, *arguments: str, **keys: str) -> str:
    settings = {"DAYSHIFT_CONTROL_URL": f"http://127.0.0.1:{stack.base}", "DAYSHIFT_CONTROL_TOKEN": TOKEN, **keys}
    process = subprocess.run(
        [sys.executable, EXAMPLES / example, *arguments],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.mark.parametrize(
    ("example", "result"),
    [
        ("sdk_crm.py", "passed, reward 1.0"),
        ("sdk_desk_and_billing.py", "passed, reward 1.0"),
        ("sdk_ide.py", "passed, reward 1.0"),
    ],
)
def test_an_episode_can_be_played_with_the_vendors_own_sdks(stack: Stack, example: str, result: str) -> None:
    assert result in run(stack, example, "--world", WORLD)


@pytest.mark.parametrize(
    "example",
    [
        "model_openai.py",
        "model_anthropic.py",
        "model_langgraph.py",
        "model_openai_agents.py",
        "model_smolagents.py",
    ],
)
def test_a_model_works_through_the_sdks_and_frameworks_of_others(
    stack: Stack, provider: ScriptedProvider, example: str
) -> None:
    keys = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{provider.url}/v1",
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": provider.url,
    }
    before = len(provider.requests)
    output = run(stack, example, "--world", WORLD, "--model", "solver", **keys)

    assert "passed, reward 1.0" in output
    assert len(provider.requests) - before >= 3, "one for each call of the solution"
    assert len((EXAMPLES / example).read_text().splitlines()) < 40


def test_many_episodes_at_once_are_recorded_and_replay_to_the_same_bytes(stack: Stack, tmp_path: Path) -> None:
    output = run(stack, "vector_rollouts.py", "--world", WORLD, "--episodes", "20", "--into", str(tmp_path))
    replay = run(stack, "replay_trajectory.py", str(tmp_path))

    assert "8 episodes in lockstep, rewards [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]" in output
    assert "{'passed': 20}" in output
    assert re.findall(r"identical: (\w+)\ngraded again: (\w+)", replay) == [("True", "passed")] * 3


def test_specialists_learn_first_and_then_their_orchestrator(stack: Stack, tmp_path: Path) -> None:
    options = ("--world", WORLD, "--lessons", "6", "--episodes", "24", "--plot", str(tmp_path / "team.png"))
    output = run(stack, "train_team.py", *options)

    first, last = map(float, re.findall(r"first ([+-][\d.]+), .* ([+-][\d.]+);", output)[0])
    learned = dict(re.findall(r"^(\w+): ([^+-]+) \+1\.00", output, re.MULTILINE))
    assert set(learned) == {"billing", "crm", "desk"}
    assert first < 0.5 < last
    assert (tmp_path / "team.png").read_bytes().startswith(b"\x89PNG")


def test_a_team_gets_a_task_that_spans_products_and_an_agent_for_each(
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
    result = json.loads(env.observe("orchestrator")["body"])
    env.close()

    assert env.possible_agents == ["orchestrator", "billing", "crm", "desk", "ide"]
    assert task.startswith("office/")
    assert products >= {"billing", "crm", "desk"}
    assert (result["report"], result["refused"]) == ("Us.", [{"operation": "crm.owners.list", "status": 0}])


def test_every_example_is_named_here() -> None:
    source = Path(__file__).read_text()
    names = {path.name for path in EXAMPLES.glob("*.py")}

    assert {name for name in names if f'"{name}"' not in source} == set()
    assert names >= NOT_RUN_HERE


def test_examples_write_nothing_that_git_would_add() -> None:
    """Their default outputs lie in a folder that is ignored."""
    sources = "".join(path.read_text() for path in EXAMPLES.glob("*.py"))
    written = re.findall(r'default=Path\("([^"]+)"\)', sources)

    assert written
    assert {path for path in written if not path.startswith("runs/")} == set()
    assert "runs/" in (EXAMPLES.parent / ".gitignore").read_text().splitlines()
