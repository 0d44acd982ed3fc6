"""Exports of what models played: their own words, the tools that they had, and nothing that nobody should learn."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dayshift import job_description
from dayshift.cli import main
from dayshift.connection import Address, Connection
from dayshift.discovery import discover_operations
from dayshift.export import (
    build_chat_rows,
    build_completion_rows,
    build_preference_rows,
    build_reinforcement_rows,
    with_object_arguments,
)
from dayshift.models.conversation import REMOVED_ANSWER
from dayshift.operations import Catalogue
from dayshift.recordings import load
from dayshift.trajectory import Trajectory
from dayshift.wire import Flag

from tests.control.stack import TASK
from tests.scripted_provider import ScriptedProvider


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    server = ScriptedProvider().start()
    yield server
    server.stop()


class Runs:
    """Plays scripted models and keeps their recordings in one folder each."""

    def __init__(self, provider: ScriptedProvider, folder: Path) -> None:
        self.provider = provider
        self.folder = folder

    def __call__(self, model: str, *options: str, code: int = 0) -> list[Trajectory]:
        output = self.folder / model.replace("/", "-")
        path = "" if model.startswith("anthropic/") else "/v1"
        fixed = ("--base-url", self.provider.url + path, "--tasks", TASK, "--output", str(output))
        assert main(["run", "--model", model, *fixed, *options]) == code
        return list(load(output, quarantined=True))


@pytest.fixture
def runs(provider: ScriptedProvider, address: Address, tmp_path: Path) -> Runs:
    return Runs(provider, tmp_path)


@pytest.fixture
def operations(connection: Connection) -> Catalogue:
    return connection.run(discover_operations(connection.address.control, "standard", ()))


def calls_in(messages: list[Any]) -> list[str]:
    return [call["function"]["name"] for message in messages for call in message.get("tool_calls", ())]


@pytest.mark.parametrize("model", ["openai/solver", "openai-responses/solver", "anthropic/solver"])
def test_a_row_holds_the_models_own_words_and_its_own_tools(runs: Runs, operations: Catalogue, model: str) -> None:
    (trajectory,) = runs(model, "--seeds", "1")
    (row,) = build_chat_rows([trajectory], operations)

    roles = [message["role"] for message in row["messages"]]
    assert roles == ["system", "user", *["assistant", "tool"] * 3]
    assert row["messages"][0]["content"] == job_description.TEXT
    assert row["messages"][1]["content"].startswith(trajectory.manifest.brief)
    replies = [message for message in row["messages"] if message["role"] == "assistant"]
    assert [reply["content"] for reply in replies] == [
        "I look the contact up first.",
        "The number differs, so I correct it.",
        "All is done.",
    ]
    reasoning = None if model.startswith("openai/") else "look first"
    assert [reply.get("reasoning_content") for reply in replies] == [reasoning] * 3
    assert calls_in(row["messages"]) == ["crm_contacts_search", "crm_contacts_update", "finish_work"]
    assert trajectory.manifest.surface is not None
    assert len(row["tools"]) == trajectory.manifest.surface.tools
    assert len(json.dumps(row)) < 60_000


def test_what_a_server_gave_of_a_models_reasoning_is_exported_under_one_name(runs: Runs, operations: Catalogue) -> None:
    (trajectory,) = runs("openai/thinking", "--seeds", "1")
    (row,) = build_chat_rows([as_passed(trajectory)], operations)

    replies = [message for message in row["messages"] if message["role"] == "assistant"]
    assert [reply.get("reasoning_content") for reply in replies] == ["look first"] * 2
    assert all(reply.keys() <= {"role", "content", "tool_calls", "reasoning_content"} for reply in replies)


def test_a_completion_row_is_exactly_what_was_sent_and_written(runs: Runs, operations: Catalogue) -> None:
    before = len(runs.provider.requests)
    trajectories = runs("openai/solver", "--seeds", "1")
    sent = [request["messages"] for request in runs.provider.requests[before:]]
    rows = list(build_completion_rows(trajectories, operations))

    assert [row["prompt"] for row in rows] == sent
    assert [calls_in(row["completion"]) for row in rows] == [
        ["crm_contacts_search"],
        ["crm_contacts_update"],
        ["finish_work"],
    ]


def test_answers_that_were_removed_from_the_context_are_removed_from_the_prompt(
    runs: Runs, operations: Catalogue
) -> None:
    before = len(runs.provider.requests)
    (trajectory,) = runs("openai/endless", "--seeds", "1", "--context-tokens", "11000", "--answer-chars", "3000")
    sent = [request["messages"] for request in runs.provider.requests[before:]]
    rows = list(build_completion_rows([as_passed(trajectory)], operations))

    assert [row["prompt"] for row in rows] == sent
    assert any(message.get("content") == REMOVED_ANSWER for message in rows[-1]["prompt"])


def test_malformed_and_silent_replies_are_no_completions(runs: Runs, operations: Catalogue) -> None:
    (trajectory,) = runs("openai/malformed", "--seeds", "1")
    rows = list(build_completion_rows([as_passed(trajectory)], operations))
    (silent,) = runs("openai/chatty", "--seeds", "1")
    (whole,) = build_chat_rows([as_passed(silent)], operations)

    assert [calls_in(row["completion"]) for row in rows] == [["finish_work"]]
    assert len(calls_in(rows[0]["prompt"])) == 2
    assert list(build_completion_rows([as_passed(silent)], operations)) == []
    assert whole["messages"][-1]["role"] == "assistant"


def test_a_preference_is_a_passed_beside_a_failed_attempt_at_one_instance(runs: Runs, operations: Catalogue) -> None:
    trajectories = runs("openai/careless", "--seeds", "3", "--rollouts", "4", "--concurrency", "1")
    left_out: Counter[str] = Counter()
    rows = list(build_preference_rows(trajectories, operations, left_out=left_out))

    assert Counter(t.ending for t in trajectories) == {"passed": 6, "failed": 6}
    assert len(rows) == 6
    assert not left_out
    for row in rows:
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        assert calls_in(row["chosen"]) == ["crm_contacts_search", "crm_contacts_update", "finish_work"]
        assert calls_in(row["rejected"]) == ["finish_work"]
    alone = list(build_preference_rows(trajectories[:1], operations, left_out=left_out))
    assert (alone, left_out) == ([], {"without a counterpart": 1})


def test_an_assisted_surface_is_exported_with_the_tools_that_it_had(runs: Runs, operations: Catalogue) -> None:
    before = len(runs.provider.requests)
    (trajectory,) = runs("openai/solver", "--seeds", "1", "--surface", "task(20)")
    (row,) = build_chat_rows([trajectory], operations)

    surface = trajectory.manifest.surface
    assert surface is not None
    assert (surface.name, surface.assisted) == ("task(20)", True)
    assert row["tools"] == runs.provider.requests[before]["tools"]
    assert len(row["tools"]) > 20


def test_flagged_and_unscored_episodes_stay_out_and_are_counted(runs: Runs, operations: Catalogue) -> None:
    (passed,) = runs("openai/solver", "--seeds", "1")
    (unscored,) = runs("openai/broken", "--seeds", "1", "--retries", "0", code=1)
    assert passed.verdict is not None
    flag = Flag(tag="mass update", evidence="40 rows")
    flagged = passed.model_copy(update={"verdict": passed.verdict.model_copy(update={"flags": [flag]})})
    for build in (build_chat_rows, build_completion_rows, build_preference_rows):
        left_out: Counter[str] = Counter()
        rows = list(build([flagged, unscored], operations, left_out=left_out))

        assert rows == []
        assert left_out == {"flagged": 1, "unscored": 1}
    assert len(list(build_chat_rows([flagged], operations, flagged=True))) == 1
    assert list(build_reinforcement_rows([unscored], operations)) == []


def test_arguments_become_objects_unless_the_model_wrote_none(runs: Runs, operations: Catalogue) -> None:
    (trajectory,) = runs("openai/malformed", "--seeds", "1")
    (row,) = build_chat_rows([as_passed(trajectory)], operations)

    arguments = [
        call["function"]["arguments"]
        for message in with_object_arguments(row)["messages"]
        for call in message.get("tool_calls", ())
    ]
    assert arguments == ['{"limit": ', {}, {}]


def test_the_command_writes_each_form_and_says_what_it_left_out(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs("openai/careless", "--seeds", "2", "--rollouts", "2", "--concurrency", "1")
    folder = str(tmp_path / "openai-careless")
    keys = {
        "chat": {"messages", "tools"},
        "prompt-completion": {"prompt", "completion", "tools"},
        "preference": {"prompt", "chosen", "rejected", "tools"},
        "reinforcement": {"messages", "tools", "grader"},
    }
    for form, expected in keys.items():
        path = tmp_path / f"{form}.jsonl"
        assert main(["export", folder, "--form", form, "--output", str(path)]) == 0
        rows = [json.loads(line) for line in path.read_text().splitlines()]

        assert rows
        assert all(set(row) == expected for row in rows)
    assert "left out: 2 not passed" in capsys.readouterr().out


def as_passed(trajectory: Trajectory) -> Trajectory:
    assert trajectory.verdict is not None
    return trajectory.model_copy(update={"verdict": trajectory.verdict.model_copy(update={"outcome": "passed"})})
