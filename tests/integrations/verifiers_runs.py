"""Runs `vf-eval` with a scripted model and reads the traces that a trainer would learn from."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.control.stack import Stack, eventually
from tests.integrations.conftest import Judge
from tests.scripted_provider import ScriptedProvider


def evaluate(
    judge: Judge,
    provider: ScriptedProvider,
    folder: Path,
    env: dict[str, Any],
    model: str = "solver",
    rollouts: int = 1,
) -> list[dict[str, Any]]:
    """`env` holds the taskset; its agents are programs of this machine that see the tools and nothing else."""
    agent = env.pop("agent", "agent")
    config = {
        "model": model,
        "num_rollouts": rollouts,
        "push": False,
        "output_dir": str(folder / "runs"),
        "env": {**env, agent: {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}},
        "client": {"base_url": f"{provider.url}/v1", "api_key_var": "OPENAI_API_KEY"},
    }
    return evaluate_config(judge, folder, config)


def evaluate_config(judge: Judge, folder: Path, config: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs `vf-eval` and returns its traces, which it writes into `runs` of the folder."""
    file = folder / "eval.json"
    file.write_text(json.dumps(config))
    judge.run_tool("vf-eval", "@", file)
    [written] = (folder / "runs").glob("*/traces.jsonl")
    episodes = [json.loads(line) for line in written.read_text().splitlines()]
    return [trace for episode in episodes for trace in episode["traces"]]


@contextmanager
def product_killed_in_an_episode(stack: Stack, provider: ScriptedProvider) -> Iterator[None]:
    """The CRM dies while the model, which must be a slow one, thinks about its first call."""
    victim, before = stack.children()["crm"], len(provider.requests)

    def kill() -> None:
        eventually(lambda: len(provider.requests) > before, seconds=200)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()


def read_scores(trace: dict[str, Any]) -> dict[str, float]:
    return {name: reward["score"] for name, reward in trace["rewards"].items()}
