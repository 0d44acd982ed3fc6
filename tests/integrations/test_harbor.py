"""Harbor loads the exported folders; the sidecar's gateway and the verifier's script run against a real stack."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests.control.stack import Stack, eventually, free_base
from tests.integrations.conftest import Judge
from tests.scripted_provider.scripts import Asked, solver

pytestmark = pytest.mark.integration
JUDGE = "harbor"

TASK = "crm/correct-contact"


def export(stack: Stack, folder: Path) -> list[Path]:
    here = Judge(stack, Path(sys.executable))
    tasks = folder / "tasks"
    here.run("-m", "dayshift.integrations.harbor", "--tasks", TASK, "--seeds", "2", "--into", tasks)
    return sorted(tasks.iterdir())


def test_harbor_reads_the_exported_folders(judge: Judge, tmp_path: Path) -> None:
    export(judge.stack, tmp_path)
    first, second = judge.run_script("harbor_tasks.py", tmp_path / "tasks")

    assert [first["name"], second["name"]] == [f"dayshift/crm-correct-contact-test-{seed}" for seed in range(2)]
    assert (first["mcp"], first["transport"]) == (["http://office:8720/mcp"], ["streamable-http"])
    assert first["has_test"]
    assert first["instruction"] != second["instruction"]


def test_the_verifier_writes_the_verdicts_reward_and_the_agent_cannot_ask_for_it(judge: Judge, tmp_path: Path) -> None:
    folder = export(judge.stack, tmp_path)[0]

    with gateway(judge.stack, folder) as url:
        _solve(url, (folder / "instruction.md").read_text())
        refused = httpx.post(f"{url}/verdict", trust_env=False)
        verified = verify(folder, url, tmp_path / "logs")

    assert refused.status_code == 401
    assert verified.returncode == 0, verified.stderr
    assert json.loads((tmp_path / "logs/reward.json").read_text()) == {"reward": 1.0, "passed": 1.0}


def test_an_environment_fault_leaves_no_reward_file(breakable: Stack, tmp_path: Path) -> None:
    folder = export(breakable, tmp_path)[0]

    with gateway(breakable, folder) as url:
        os.kill(breakable.children()["crm"], signal.SIGKILL)
        verified = verify(folder, url, tmp_path / "logs")

    assert verified.returncode != 0
    assert verified.stderr.startswith("unscored: ")
    assert not (tmp_path / "logs/reward.json").exists()


@contextmanager
def gateway(stack: Stack, folder: Path) -> Iterator[str]:
    """The sidecar with the settings of the exported compose file, on a stack that runs already."""
    office = yaml.safe_load((folder / "environment/docker-compose.yaml").read_text())["services"]["office"]
    port = free_base()
    place = {"HARBOR_HOST": "127.0.0.1", "HARBOR_PORT": str(port)}
    process = subprocess.Popen(
        [sys.executable, *office["entrypoint"][1:]],
        env=Judge(stack, Path(sys.executable)).environment(**office["environment"], **place),
    )
    try:

        def is_healthy() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).is_success
            except httpx.HTTPError:
                return False

        eventually(is_healthy, seconds=120)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def verify(folder: Path, url: str, logs: Path) -> "subprocess.CompletedProcess[str]":
    """tests/test.sh starts this script in the agent's container, with the variables of task.toml."""
    settings = tomllib.loads((folder / "task.toml").read_text())["verifier"]["env"]
    places = {"HARBOR_GATEWAY": url, "HARBOR_VERIFIER_LOGS": str(logs)}
    script = folder / "tests/verdict.py"
    return subprocess.run(
        [sys.executable, "-S", script], env=settings | places, capture_output=True, text=True, timeout=300, check=False
    )


def _solve(url: str, brief: str) -> None:
    """The solver's calls as plain MCP messages."""
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    answers: list[str] = []
    with httpx.Client(trust_env=False, timeout=120, headers=headers) as client:
        for number in range(3):
            [(tool, arguments)] = solver(Asked(brief, (), tuple(answers), 1)).calls
            params = {"name": tool, "arguments": json.loads(arguments)}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            answer = client.post(f"{url}/mcp", json=message).json()
            answers.append(answer["result"]["content"][0]["text"])
