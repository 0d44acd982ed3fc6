"""A real inference server, and real trainers of language models: `.ci/integrations inference`."""

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from dayshift.calls import SUBMIT
from dayshift.cli import main
from dayshift.connection import Address
from dayshift.models import Conversation, Reply, Sampling, ToolRequest, create_model
from dayshift.operations import OpenAiTool
from dayshift.recordings import load
from dayshift.run_summary import summarise_run

from tests.control.stack import TASK, eventually
from tests.judges import python_of
from tests.scripted_provider import ScriptedProvider

pytestmark = pytest.mark.integration
PROGRAMS = Path(__file__).parent / "judges"
# Nothing is fetched: models and data are made on the spot.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "WANDB_MODE": "disabled",
}

TOOL = {
    "name": "contacts_list",
    "description": "List contacts.",
    "parameters": {"type": "object", "properties": {"limit": {"type": "integer", "description": "How many"}}},
}


def make_reply(arguments: str) -> dict[str, Any]:
    call = {"id": "call_1", "type": "function", "function": {"name": "contacts_list", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def run_judge(program: str, *arguments: str, home: Path) -> str:
    ran = subprocess.run(
        [str(python_of("inference")), str(PROGRAMS / program), *arguments],
        env={**os.environ, **OFFLINE, "HF_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    return ran.stdout


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of two language models with a token for each byte."""
    folder = tmp_path_factory.mktemp("models")
    run_judge("tiny_model.py", str(folder), home=folder)
    return folder


@pytest.fixture(scope="module")
def tiny_model(models: Path) -> Path:
    """Random weights."""
    return models / "untrained"


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[str]:
    """`transformers serve`, which loads the model that a request names."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = python_of("inference").parent / "transformers"
    with (models / "server.log").open("w") as log:
        serving = subprocess.Popen(
            [str(program), "serve", "--device", "cpu", "--port", str(port)],
            env={**os.environ, **OFFLINE, "HF_HOME": str(models)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            eventually(lambda: _is_up(url) or serving.poll() is not None, seconds=600, what=lambda: "no server")
            assert serving.poll() is None, (models / "server.log").read_text()[-3000:]
            yield url
        finally:
            serving.terminate()
            serving.wait(30)


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def test_a_real_inference_server_plays_episodes(
    server: str, tiny_model: Path, address: Address, tmp_path: Path
) -> None:
    """The model says nothing that makes sense, and calls no tool: its work is handed in as it is, and judged."""
    options = ["--seeds", "2", "--concurrency", "2", "--surface", "search", "--max-output-tokens", "12"]
    model = ["--model", f"openai/{tiny_model}", "--base-url", f"{server}/v1", "--temperature", "0"]

    assert main(["run", *model, "--tasks", TASK, "--output", str(tmp_path), *options]) == 0

    trajectories = list(load(tmp_path, quarantined=True))
    assert [trajectory.ending for trajectory in trajectories] == ["failed", "failed"]
    for trajectory in trajectories:
        assert [step.operation for step in trajectory.steps] == [SUBMIT]
        assert trajectory.model is not None
        assert [turn.finish_reason for turn in trajectory.model.turns] == ["length"] * 3
        assert [turn.output_tokens for turn in trajectory.model.turns] == [12] * 3
        # A token for each byte: the prompt holds the job description, the brief and four tools.
        assert 1_500 < (trajectory.model.turns[0].input_tokens or 0) < 6_000
    summary = summarise_run(trajectories)
    assert (summary.environment_failures, summary.provider_failures) == (0, 0)


def test_a_model_behind_a_real_inference_server_calls_tools(
    server: str, models: Path, address: Address, tmp_path: Path
) -> None:
    """The server reads the calls out of the model's text, and renders them and their answers into the next prompt."""
    model = ["--model", f"openai/{models / 'calling'}", "--base-url", f"{server}/v1", "--temperature", "0"]
    options = ["--seeds", "2", "--concurrency", "2", "--surface", "search"]

    assert main(["run", *model, "--tasks", TASK, "--output", str(tmp_path), *options]) == 0

    trajectories = list(load(tmp_path, quarantined=True))
    assert [trajectory.ending for trajectory in trajectories] == ["failed", "failed"]
    for trajectory in trajectories:
        assert [(step.operation, step.status) for step in trajectory.steps] == [
            ("crm.contacts.list", 200),
            (SUBMIT, 200),
        ]
        assert trajectory.steps[0].arguments == {"limit": 1}
        assert trajectory.model is not None
        first, second = trajectory.model.turns
        assert (first.finish_reason, second.finish_reason) == ("tool_calls", "tool_calls")
        assert (first.output_tokens, second.output_tokens) == (2, 2), "the call and the end"
        assert second.input_tokens > first.input_tokens + len(trajectory.steps[0].answer) // 2, "the answer was sent"


@pytest.mark.parametrize("arguments", ['{"limit": 3}', '{"limit": ', '["limit"]', ""])
def test_a_real_inference_server_takes_a_history_with_calls(server: str, tiny_model: Path, arguments: str) -> None:
    """A well-formed call and its answer, and calls whose arguments were repaired because no server can parse them."""

    async def ask_again() -> tuple[Conversation, Reply]:
        sampling = Sampling(temperature=0, max_output_tokens=4)
        model = create_model(f"openai/{tiny_model}", base_url=f"{server}/v1", sampling=sampling, retries=0)
        tool = cast(OpenAiTool, {"type": "function", "function": TOOL})
        conversation = model.start("You work at a company.", [tool], 10_000)
        conversation.say("Look up the contacts.")
        written = Reply(make_reply(arguments), "", (ToolRequest("call_1", "contacts_list", arguments),), "tool_calls")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(conversation, "_request", lambda _messages: asyncio.sleep(0, written))
            await conversation.complete()
        conversation.answer(written.calls[0], "200")
        try:
            return conversation, await conversation.complete()
        finally:
            await model.close()

    conversation, reply = asyncio.run(ask_again())

    assert reply.finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.output_tokens == 4
    assert conversation.last_sent.repaired == ([] if arguments == '{"limit": 3}' else [2])


def test_datasets_and_trl_read_the_exports(address: Address, tiny_model: Path, tmp_path: Path) -> None:
    """SFT learns from the chats and from the completions, DPO from the preferences; each takes a step."""
    provider = ScriptedProvider().start()
    try:
        folder = str(tmp_path / "run")
        run = ["run", "--model", "openai/careless", "--base-url", f"{provider.url}/v1", "--tasks", TASK]
        assert main([*run, "--seeds", "3", "--rollouts", "2", "--surface", "search", "--output", folder]) == 0
    finally:
        provider.stop()
    for form in ("chat", "prompt-completion", "preference", "reinforcement"):
        arguments = ["--arguments", "object"] if form == "chat" else []
        assert main(["export", folder, "--form", form, "--output", str(tmp_path / f"{form}.jsonl"), *arguments]) == 0

    printed = run_judge("train_on_exports.py", str(tiny_model), str(tmp_path), home=tmp_path)

    report = json.loads(printed.splitlines()[-1])
    assert report["rows"].keys() == {"chat", "prompt-completion", "preference", "reinforcement"}
    assert all(report["rows"].values())
    assert report["steps"] == {"chat": 1, "prompt-completion": 1, "preference": 1}
    assert all(0 < loss < 100 for loss in report["losses"].values())
