"""`dayshift run`: a model's work is recorded whole, a provider's failure is nobody's reward, and a run can go on."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dayshift import model_episode
from dayshift.calls import SUBMIT
from dayshift.cli import main
from dayshift.connection import Address, Connection
from dayshift.model_episode import Prices
from dayshift.model_record import ModelRecord, ModelTurn
from dayshift.recordings import load
from dayshift.report import wilson_interval
from dayshift.rollout import record_unopened
from dayshift.run_summary import (
    count_independent,
    difference_interval,
    latest_attempts,
    pass_at,
    pass_power,
    rate_interval,
    summarise_run,
    variance_of_mean,
)
from dayshift.trajectory import Quarantine, Trajectory
from dayshift.wire import OpenRequest, Verdict

from tests.scripted_provider import ScriptedProvider
from tests.scripted_provider.scripts import GARBAGE

TASK = "crm/correct-contact"
REFUSED_TASK = "crm/clean-import"
PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": ""}


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    server = ScriptedProvider().start()
    yield server
    server.stop()


class Runner:
    """Runs the command against the scripted provider."""

    def __init__(self, provider: ScriptedProvider, folder: Path) -> None:
        self.provider = provider
        self.folder = folder

    def __call__(self, model: str, *options: str, tasks: str = TASK, code: int = 0) -> list[Trajectory]:
        fixed = ("--base-url", self.provider.url + PATHS[model.partition("/")[0]], "--tasks", tasks)
        assert main(["run", "--model", model, *fixed, "--output", str(self.folder), *options]) == code
        return list(load(self.folder, quarantined=True))


def list_open(connection: Connection) -> set[str]:
    return {episode.episode_id for episode in connection.run(connection.address.control.live()).episodes}


@pytest.fixture
def run(provider: ScriptedProvider, address: Address, tmp_path: Path) -> Runner:
    return Runner(provider, tmp_path / "run")


@pytest.mark.parametrize("provider_name", PATHS)
def test_each_protocol_plays_an_episode_to_its_verdict(run: Runner, provider_name: str) -> None:
    (trajectory,) = run(f"{provider_name}/steady", "--seeds", "1")

    assert trajectory.verdict is not None
    assert [step.operation for step in trajectory.steps][-1] == SUBMIT
    record = trajectory.model
    assert record is not None
    assert [turn.output_tokens for turn in record.turns] == [10, 10]
    assert record.turns[0].reasoning == ("" if provider_name == "openai" else "look first")
    assert record.turns[0].first_step == record.turns[0].last_step == 1
    assert record.surface == "core"


def test_a_model_that_does_not_reason_is_asked_without_reasoning(run: Runner) -> None:
    trajectories = run("openai-responses/without-reasoning", "--seeds", "2", "--concurrency", "1")

    assert [trajectory.ending for trajectory in trajectories] == ["failed"] * 2
    assert ["include" in request for request in run.provider.requests] == [True, False, False, False, False]


def test_what_a_model_thought_is_sent_back_to_it(run: Runner) -> None:
    """DeepSeek and others refuse a conversation from which it was dropped."""
    (trajectory,) = run("openai/thinking", "--seeds", "1")

    assert trajectory.scored, trajectory.quarantine
    assert trajectory.model is not None
    assert [turn.reasoning for turn in trajectory.model.turns] == ["look first"] * 2
    assert run.provider.requests[-1]["messages"][2]["reasoning_content"] == "look first"


def test_anthropic_is_asked_to_keep_the_prompt_for_the_next_turn(run: Runner) -> None:
    (trajectory,) = run("anthropic/steady", "--seeds", "1")

    request = run.provider.requests[-1]
    assert request["system"][0]["cache_control"] == {"type": "ephemeral"}
    marked = [["cache_control" in block for block in message["content"]] for message in request["messages"]]
    assert marked[-1][-1]
    assert sum(map(sum, marked)) == 1
    assert trajectory.model is not None
    assert "cache_control" not in json.dumps(trajectory.model.messages)


def test_a_blank_text_is_not_sent_back_where_it_is_refused(run: Runner) -> None:
    (trajectory,) = run("anthropic/blank", "--seeds", "1")

    assert trajectory.scored, trajectory.quarantine
    assert trajectory.model is not None
    assert {"type": "text", "text": " "} in trajectory.model.messages[1]["content"]


def test_a_job_description_is_sent_and_no_word_of_a_test(run: Runner) -> None:
    run("openai/steady", "--seeds", "1")

    request = run.provider.requests[0]
    system = request["messages"][0]["content"].lower()
    assert not [word for word in ("episode", "reward", "score", "benchmark", "simulat") if word in system]
    assert request["max_tokens"] == 4096
    assert "temperature" not in request


def test_a_rate_limit_is_waited_out_and_leaves_no_trace_in_the_verdict(run: Runner) -> None:
    trajectories = run("openai/rate-limited", "--seeds", "3")

    assert [trajectory.ending for trajectory in trajectories] == ["failed"] * 3
    assert all(len(trajectory.steps) == 2 for trajectory in trajectories)


@pytest.mark.parametrize(
    ("model", "kind"), [("broken", "InternalServerError"), ("slow", "APITimeoutError"), ("garbage", "BadAnswer")]
)
def test_a_provider_that_fails_leaves_the_episode_unscored(run: Runner, model: str, kind: str) -> None:
    (trajectory,) = run(f"openai/{model}", "--seeds", "1", "--retries", "1", "--timeout", "0.5", code=1)

    assert trajectory.ending == "quarantined"
    assert trajectory.quarantine is not None
    assert (trajectory.quarantine.blame, trajectory.quarantine.kind) == ("provider", kind)
    assert summarise_run([trajectory]).environment_failures == 0
    assert summarise_run([trajectory]).provider_failures == 1


@pytest.mark.parametrize("provider_name", PATHS)
@pytest.mark.parametrize("body", GARBAGE)
def test_an_answer_of_another_shape_is_the_providers_failure(run: Runner, provider_name: str, body: str) -> None:
    (trajectory,) = run(f"{provider_name}/{body}", "--seeds", "1", "--retries", "1", code=1)

    assert trajectory.quarantine is not None
    assert (trajectory.quarantine.blame, trajectory.quarantine.kind) == ("provider", "BadAnswer")
    assert not trajectory.steps
    assert len(run.provider.requests) == 2, "the provider is asked once more"


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("openai/error-in-answer", "ErrorInAnswer"),
        ("openai-responses/error-in-answer", "ErrorInAnswer"),
        ("anthropic/error-in-answer", "ErrorInAnswer"),
        ("openai/error-midway", "ErrorInAnswer"),
        ("openai-responses/error-midway", "ErrorInAnswer"),
        ("openai/no-choices", "BadAnswer"),
        ("openai/null-choices", "BadAnswer"),
        ("openai-responses/cancelled", "ErrorInAnswer"),
    ],
)
def test_an_error_in_an_answer_is_no_reply_of_the_model(run: Runner, model: str, kind: str) -> None:
    (trajectory,) = run(model, "--seeds", "1", code=1)

    assert trajectory.quarantine is not None
    assert (trajectory.quarantine.blame, trajectory.quarantine.kind) == ("provider", kind)
    assert len(run.provider.requests) == 3, "two more requests, though --retries allows six"


@pytest.mark.parametrize("provider_name", PATHS)
def test_an_error_that_passes_leaves_no_trace_in_the_verdict(run: Runner, provider_name: str) -> None:
    (trajectory,) = run(f"{provider_name}/failing-once", "--seeds", "1")

    assert (trajectory.ending, len(trajectory.steps)) == ("failed", 2)


@pytest.mark.parametrize("provider_name", PATHS)
def test_a_reply_that_is_cut_off_is_the_models_own(run: Runner, provider_name: str) -> None:
    (trajectory,) = run(f"{provider_name}/cut", "--seeds", "1")

    assert trajectory.ending == "failed"
    assert trajectory.model is not None
    reasons = {"openai": "length", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"}
    assert [turn.finish_reason for turn in trajectory.model.turns] == [reasons[provider_name]] * 3


@pytest.mark.parametrize("provider_name", PATHS)
def test_arguments_that_no_server_can_parse_are_sent_as_an_object_and_kept_as_written(
    run: Runner, provider_name: str
) -> None:
    """The scripted provider refuses a history with unreadable arguments, as llama.cpp, vLLM and SGLang do."""
    (trajectory,) = run(f"{provider_name}/recovering", "--seeds", "1")

    assert trajectory.scored, trajectory.quarantine
    record = trajectory.model
    assert record is not None
    replies = [turn.messages_sent for turn in record.turns]
    # Arguments that are left out are an empty object, which Anthropic's protocol writes as such.
    assert [step.status == 0 for step in trajectory.steps] == [True] * 5 + [False] * 2
    assert record.turns[-1].repaired == replies[: 5 if provider_name == "anthropic" else 6]
    assert [turn.repaired for turn in record.turns[:2]] == [[], replies[:1]]
    written, sent = (json.dumps(messages) for messages in (record.messages, run.provider.requests[-1]))
    assert json.dumps('{"limit": ')[1:-1] in written
    assert "unreadable_arguments" not in written
    assert "unreadable_arguments" in sent


def test_a_bug_of_the_client_ends_its_own_episode_only(
    run: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record_turn = model_episode._record_turn

    def fail_once(*arguments: Any) -> ModelTurn:
        monkeypatch.setattr(model_episode, "_record_turn", record_turn)
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(model_episode, "_record_turn", fail_once)

    trajectories = run("openai/steady", "--seeds", "4", code=1)

    assert sorted(trajectory.ending for trajectory in trajectories) == ["failed"] * 3 + ["quarantined"]
    (quarantine,) = [trajectory.quarantine for trajectory in trajectories if trajectory.quarantine is not None]
    assert (quarantine.blame, quarantine.kind) == ("harness", "ClientBug")
    assert "ZeroDivisionError: a bug of ours" in quarantine.because
    assert "a bug in dayshift: 1, the first by ZeroDivisionError" in capsys.readouterr().out
    assert summarise_run(trajectories).environment_failures == 1


def test_a_family_that_the_stack_refuses_does_not_end_the_others(
    run: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    """The small world has no two rows that one of these families could be about."""
    trajectories = run("openai/steady", "--seeds", "1", "--rollouts", "2", tasks="crm/c[lo]*", code=1)

    endings = {trajectory.manifest.open.task: trajectory.ending for trajectory in trajectories}
    assert endings == {TASK: "failed", REFUSED_TASK: "quarantined"}
    assert "the stack refused to open them: 2" in capsys.readouterr().out


def test_a_run_of_what_does_not_exist_ends_with_one_sentence_and_leaves_no_recordings(
    run: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("openai/steady", "--surface", "nosuch", code=2) == []
    assert "there is no surface 'nosuch'" in capsys.readouterr().err
    assert run("openai/steady", "--seeds", "1")[0].scored


def test_the_version_of_the_policy_is_kept_in_every_recording(run: Runner) -> None:
    (trajectory,) = run("openai/steady", "--seeds", "1", "--policy-version", "step-1200")

    assert trajectory.policy_version == "step-1200"
    assert {step.policy_version for step in trajectory.steps} == {"step-1200"}


def test_a_model_that_does_not_exist_ends_the_run_with_one_sentence(
    run: Runner, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    code = main(["run", "--model", "openai/unknown", "--base-url", run.provider.url + "/v1", "--tasks", TASK])

    errors = capsys.readouterr().err.splitlines()
    assert code == 2
    assert errors[-1].startswith(f"dayshift: the provider at {run.provider.url}/v1 refuses the model 'unknown': ")
    assert len(errors) == 2, "the number of episodes, and one sentence"


def test_a_run_ends_early_where_nobody_answers(
    run: Runner, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped address, or an outage: the other attempts would only wait for it, too."""
    open_before = list_open(connection)
    nobody = ["--base-url", "http://127.0.0.1:9/v1", "--retries", "0", "--concurrency", "4"]

    trajectories = run("openai/steady", "--seeds", "30", *nobody, code=2)

    output = capsys.readouterr()
    assert "8 attempts in a row came to nothing, the last because of APIConnectionError: " in output.err
    assert "(All connection attempts failed); the same command with --resume goes on" in output.err
    assert len(trajectories) < 30
    assert not any(trajectory.scored for trajectory in trajectories)
    assert list_open(connection) <= open_before, "attempts that are cut close their episodes"
    assert len(run("openai/steady", "--seeds", "30", "--resume")) >= 30


def test_a_run_that_is_stopped_shows_what_there_is_and_can_go_on(
    run: Runner, address: Address, capfd: pytest.CaptureFixture[str]
) -> None:
    finished = run("openai/steady", "--seeds", "1")
    (run.folder / "run.json").write_text((run.folder / "run.json").read_text().replace('"seeds": 1', '"seeds": 2'))
    options = ["run", "--model", "openai/steady", "--base-url", "http://127.0.0.1:9/v1", "--tasks", TASK]
    program = "import sys; from dayshift.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *options, "--seeds", "2", "--output", str(run.folder), "--resume"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "already played: 1" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()

    assert process.returncode == 130
    assert errors == "stopped; the same command with --resume goes on\n"
    assert "pass@1" in capfd.readouterr().out
    assert {t.group for t in finished} < {t.group for t in run("openai/steady", "--seeds", "2", "--resume")}


def test_a_malformed_call_is_an_ordinary_answer(run: Runner) -> None:
    (trajectory,) = run("openai/malformed", "--seeds", "1")

    assert [step.status for step in trajectory.steps[:2]] == [0, 0]
    assert trajectory.scored
    answers = [message["content"] for message in trajectory.model.messages if message["role"] == "tool"]  # type: ignore[union-attr]  # a model played
    assert "not JSON" in answers[0]
    assert "no_such_tool" in answers[1]


@pytest.mark.parametrize("provider_name", PATHS)
def test_names_that_no_server_takes_back_are_sent_in_other_letters_and_kept_as_written(
    run: Runner, provider_name: str
) -> None:
    (trajectory,) = run(f"{provider_name}/misnaming", "--seeds", "1")

    assert trajectory.scored, trajectory.quarantine
    assert [step.status for step in trajectory.steps] == [200, *[0] * 5, 200]
    assert trajectory.model is not None
    assert len(trajectory.model.turns[-1].repaired) == 6
    written, sent = (json.dumps(messages) for messages in (trajectory.model.messages, run.provider.requests[-1]))
    assert '"look up!"' in written
    assert '"look_up_"' in sent
    assert '"unnamed"' in sent


@pytest.mark.parametrize("provider_name", PATHS)
def test_a_provider_that_finds_a_conversation_too_long_is_sent_a_shorter_one(run: Runner, provider_name: str) -> None:
    (trajectory,) = run(f"{provider_name}/short-context", "--seeds", "1", "--answer-chars", "3000")

    assert trajectory.scored, trajectory.quarantine
    assert trajectory.manifest.budget is not None
    assert len(trajectory.steps) == trajectory.manifest.budget.steps + 1
    assert trajectory.model is not None
    assert trajectory.model.turns[-1].removed
    assert not trajectory.model.context_exhausted


def test_a_model_that_fills_its_context_hands_in_its_work_as_it_is(run: Runner) -> None:
    (trajectory,) = run("openai/full-context", "--seeds", "1")

    assert (trajectory.ending, len(trajectory.steps)) == ("failed", 2)
    assert trajectory.model is not None
    assert trajectory.model.context_exhausted


def test_tools_that_do_not_fit_into_the_context_leave_the_episode_unscored(run: Runner) -> None:
    (trajectory,) = run("openai/no-context", "--seeds", "1", code=1)

    assert trajectory.quarantine is not None
    assert (trajectory.quarantine.blame, trajectory.quarantine.kind) == ("provider", "ContextTooLong")


@pytest.mark.parametrize("model", ["silent", "chatty"])
def test_a_model_that_calls_nothing_hands_in_its_work_as_it_is(run: Runner, model: str) -> None:
    (trajectory,) = run(f"openai/{model}", "--seeds", "1")

    assert trajectory.ending == "failed"
    assert [step.operation for step in trajectory.steps] == [SUBMIT]
    assert len(run.provider.requests) == 3


def test_an_endless_model_is_stopped_by_the_budget_and_its_context_stays_bounded(run: Runner) -> None:
    (trajectory,) = run("openai/endless", "--seeds", "1", "--context-tokens", "11000", "--answer-chars", "3000")

    assert trajectory.scored
    assert trajectory.manifest.budget is not None
    assert len(trajectory.steps) == trajectory.manifest.budget.steps + 1
    record = trajectory.model
    assert record is not None
    assert record.turns[-1].removed, "the oldest answers must be replaced"
    sizes = [len(json.dumps(request["messages"])) for request in run.provider.requests]
    assert max(sizes) < 4 * 11000
    kept = [message["content"] for message in record.messages if message["role"] == "tool"]
    assert not any("removed to save space" in text for text in kept), "the record keeps what was answered"


def test_a_killed_run_goes_on_where_it_stopped(run: Runner) -> None:
    first = run("openai/steady", "--seeds", "2", "--rollouts", "2")
    lines = (run.folder / "trajectories.jsonl").read_text().splitlines(keepends=True)
    (run.folder / "trajectories.jsonl").write_text("".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    asked = len(run.provider.requests)

    again = run("openai/steady", "--seeds", "2", "--rollouts", "2", "--resume")

    assert len(run.provider.requests) - asked == 2, "one attempt of two turns is missing"
    assert {(t.group, t.attempt) for t in again} == {(t.group, t.attempt) for t in first}


def test_what_a_provider_failed_is_played_again_on_resume(run: Runner) -> None:
    run.provider.failing = True
    run("openai/steady", "--seeds", "2", "--retries", "0", code=1)
    run.provider.failing = False

    trajectories = run("openai/steady", "--seeds", "2", "--retries", "0", "--resume")

    summary = summarise_run(trajectories)
    assert (summary.total.episodes, summary.total.scored, summary.provider_failures) == (2, 2, 0)


def test_a_run_does_not_go_on_with_other_options(run: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    run("openai/steady", "--seeds", "1")
    fixed = ["--base-url", run.provider.url + "/v1", "--output", str(run.folder), "--tasks", TASK]

    assert main(["run", "--model", "openai/steady", *fixed, "--seeds", "1"]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["run", "--model", "openai/steady", *fixed, "--seeds", "5", "--resume"]) == 2
    assert "seeds was 1 and is 5" in capsys.readouterr().err


def test_token_ids_and_log_probabilities_are_kept_where_the_server_returns_them(run: Runner) -> None:
    (trajectory,) = run("openai/steady", "--seeds", "1", "--logprobs", "--token-ids", "--temperature", "0.7")

    assert trajectory.model is not None
    assert trajectory.model.turns[0].token_ids == [7, 8, 9]
    assert trajectory.model.turns[0].logprobs == [-0.25]
    assert trajectory.model.sampling["temperature"] == 0.7


def test_the_table_has_rates_intervals_tokens_and_cost(run: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    run("openai/steady", "--seeds", "2", "--rollouts", "2", "--price-input", "1", "--price-output", "10")

    table = capsys.readouterr().out
    assert "pass@2" in table
    assert "pass^2" in table
    # Two turns of 100 and 10 tokens: 2 × (100 × 1 + 10 × 10) / 10⁶ dollars in each of four episodes.
    assert [line.split()[-1] for line in table.splitlines() if line.startswith((TASK, "all"))] == ["0.0004", "0.0004"]
    assert "cost of all episodes: $0.0016" in table
    assert "environment failures 0 of 4 (0.00%), below the 5% line" in table
    assert (run.folder / "report.html").exists()
    assert table.splitlines()[-1] == f"read them, step by step: dayshift view {run.folder}"


def test_cached_tokens_have_a_price_of_their_own() -> None:
    def turn(number: int) -> ModelTurn:
        tokens = {"input_tokens": 1_000, "cached_tokens": 900 * number, "output_tokens": 10}
        return ModelTurn(messages_sent=2, finish_reason="stop", first_step=1, last_step=1, **tokens)

    record = ModelRecord.model_construct(turns=[turn(0), turn(1)])

    assert Prices(2.0, 10.0).cost(record) == pytest.approx((2_000 * 2 + 20 * 10) / 1e6)
    assert Prices(2.0, 10.0, 0.5).cost(record) == pytest.approx((1_100 * 2 + 900 * 0.5 + 20 * 10) / 1e6)


def test_an_agent_of_ones_own_is_a_function(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_agents.py").write_text(
        "async def patient(session):\n"
        "    assert 'crm_contacts_search' in {tool['function']['name'] for tool in session.tools}\n"
        "    await session.call('crm_contacts_search', {'limit': 1})\n"
        "def blocking(session):\n"
        "    session.call('crm_contacts_search', '{\"limit\": 1}')\n"
        "def faulty(session):\n"
        "    raise RuntimeError('a bug of mine')\n"
        "def leaving(session):\n"
        "    raise SystemExit(3)\n"
        "async def leaving_too(session):\n"
        "    raise SystemExit\n"
        "class Agent:\n"
        "    async def __call__(self, session):\n"
        "        await session.call('finish_work')\n"
        "an_object = Agent()\n"
    )
    monkeypatch.chdir(tmp_path)

    codes = {"patient": 0, "blocking": 0, "an_object": 0, "faulty": 1, "leaving": 1, "leaving_too": 1}
    for name, code in codes.items():
        model = f"python:my_agents.{name}"
        assert main(["run", "--model", model, "--tasks", TASK, "--seeds", "1"]) == code
    by_name = {t.policy: t for t in load("runs", quarantined=True)}

    assert by_name["python:my_agents.patient"].scored
    assert by_name["python:my_agents.blocking"].scored
    quarantine = by_name["python:my_agents.faulty"].quarantine
    assert quarantine is not None
    assert (quarantine.blame, quarantine.because) == ("policy", "a bug of mine")
    assert by_name["python:my_agents.an_object"].scored
    for name, because in (("leaving", "sys.exit(3)"), ("leaving_too", "sys.exit()")):
        quarantine = by_name[f"python:my_agents.{name}"].quarantine
        assert quarantine is not None
        assert (quarantine.blame, quarantine.because) == ("policy", f"the agent called {because}")


def test_as_many_blocking_agents_play_at_once_as_were_asked_for(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for each other: fewer at once would wait for ever."""
    (tmp_path / "meeting_agents.py").write_text(
        "import threading\n"
        "barrier = threading.Barrier(40)\n"
        "def agent(session):\n"
        "    session.call('crm_contacts_search', {'limit': 1})\n"
        "    barrier.wait(60)\n"
    )
    monkeypatch.chdir(tmp_path)
    size = ["--seeds", "40", "--concurrency", "40"]

    assert main(["run", "--model", "python:meeting_agents.agent", "--tasks", TASK, *size, "--output", "met"]) == 0
    assert sum(trajectory.scored for trajectory in load("met", quarantined=True)) == 40


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gpt-5", "PROVIDER/NAME"),
        ("openai/x", "OPENAI_API_KEY"),
        ("python:nothing", "MODULE.FUNCTION"),
        ("python:no_such_module.agent", "cannot be imported"),
    ],
)
def test_a_model_that_cannot_be_is_refused_in_one_sentence(
    model: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    assert main(["run", "--model", model]) == 2
    assert message in capsys.readouterr().err


def test_pass_at_k_and_pass_power_k_are_unbiased() -> None:
    assert pass_at(4, 1, 2) == pytest.approx(0.5)
    assert pass_power(4, 2, 2) == pytest.approx(1 / 6)
    assert (pass_at(2, 0, 2), pass_power(2, 2, 2)) == (0.0, 1.0)


def test_attempts_at_one_instance_count_as_the_spread_between_instances_says() -> None:
    alike = [[True] * 4] * 10 + [[False] * 4] * 10
    mixed = [[True, False, True, False]] * 20

    assert count_independent(alike) == 20
    assert rate_interval(alike) == wilson_interval(10, 20)
    assert count_independent(mixed) == 80
    assert count_independent([[True]] * 30 + [[False]] * 50) == pytest.approx(80, rel=0.02)
    assert 20 < count_independent([[True] * 3 + [False]] * 10 + [[False] * 3 + [True]] * 10) < 80
    # Where all pass, nothing tells how alike the attempts at one instance are.
    assert rate_interval([[True] * 4] * 5) == wilson_interval(5, 5)
    assert rate_interval([[True, False]]) == wilson_interval(0.5, 1)


def test_the_reach_of_a_mean_grows_where_attempts_at_one_instance_are_alike() -> None:
    alike, mixed = [[1.0] * 4, [0.0] * 4] * 5, [[1.0, 0.0, 1.0, 0.0]] * 10
    single = [[1.0], [0.0]] * 5

    assert variance_of_mean(alike) == pytest.approx(variance_of_mean(single))
    assert variance_of_mean(mixed) == pytest.approx(0.25 * 40 / 39 / 40)
    assert variance_of_mean([[0.5]]) == 0.0


def test_every_scored_episode_counts_and_of_unscored_attempts_the_last() -> None:
    def attempt(number: int, reward: float | None, policy: str) -> Trajectory:
        unscored = record_unopened(
            OpenRequest(task=TASK), Quarantine(blame="harness", kind="x", because="x"), policy, None
        )
        verdict = None if reward is None else Verdict.model_construct(outcome="passed", reward=reward)
        return unscored.model_copy(update={"group": "g", "attempt": number, "verdict": verdict})

    recorded = [attempt(0, None, "a"), attempt(1, None, "b"), attempt(0, 1.0, "c"), attempt(0, 1.0, "d")]
    recorded.append(attempt(1, None, "e"))

    assert [trajectory.policy for trajectory in latest_attempts(recorded)] == ["c", "d", "e"]


def test_two_runs_are_compared_with_intervals(run: Runner, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("openai/steady", "--seeds", "2")
    capsys.readouterr()

    assert main(["compare", str(run.folder), str(run.folder)]) == 0
    assert "+0.0%" in capsys.readouterr().out
    low, high = difference_interval(10, 100, 40, 100)
    assert 0.1 < low < 0.3 < high < 0.5
    searching = Runner(run.provider, tmp_path / "searching")
    searching("openai/steady", "--seeds", "1", "--surface", "search")
    capsys.readouterr()
    assert main(["compare", str(run.folder), str(searching.folder)]) == 0
    assert "the runs differ in more than the model: seeds 2 / 1, surface core / search" in capsys.readouterr().out
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["compare", str(run.folder), str(empty)]) == 2
