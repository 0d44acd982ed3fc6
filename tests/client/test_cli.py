"""The dayshift command."""

import argparse
import asyncio
import io
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import dayshift
import httpx
import pytest
from dayshift.cli import build_parser, main
from dayshift.connection import Address, Connection
from dayshift.discovery import discover_operations
from dayshift.play import create_prompt, describe_operation, list_completions, parse_line, play
from dayshift.recorder import SCORED
from dayshift.version import VERSION
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from tests.client.policies import diligent, find_correction
from tests.control.stack import PLAYGROUND, TASK, Stack

pytestmark = pytest.mark.usefixtures("address")


@pytest.fixture
def folder(tmp_path: Path, address: Address) -> Path:
    async def fill(recorder: dayshift.Recorder) -> None:
        tasks = list(dayshift.tasks(TASK, seeds=range(3)))
        async for _ in dayshift.rollouts(diligent, tasks, recorder=recorder, progress=False):
            pass

    with dayshift.Recorder(tmp_path) as recorder:
        asyncio.run(fill(recorder))
    return tmp_path


def test_tasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--product", "crm", "--split", "test"]) == 0
    assert TASK in capsys.readouterr().out


def test_doctor_finds_no_problem_in_a_healthy_stack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0

    output = capsys.readouterr().out
    assert "✗" not in output
    for what in ("control", "wire", "crm", "world standard", "clocks", "determinism"):
        assert f"✓ {what}" in output


def test_doctor_names_a_remedy_for_a_missing_stack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--control-url", "http://127.0.0.1:1", "doctor"]) == 1

    output = capsys.readouterr().out
    assert "✗ control" in output
    assert "→ start it" in output


def test_doctor_names_a_remedy_for_a_wrong_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "not this one")

    assert main(["doctor"]) == 1
    assert "→ set DAYSHIFT_CONTROL_TOKEN" in capsys.readouterr().out


def test_verify_tells_identical_from_changed_recordings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(folder / SCORED)]) == 0
    assert "3 identical, 0 different" in capsys.readouterr().out

    lines = (folder / SCORED).read_text()
    (folder / SCORED).write_text(lines.replace("corvane", "corvine", 1))
    assert main(["verify", str(folder / SCORED)]) == 1
    assert "differs" in capsys.readouterr().out


def test_a_folder_is_verified_as_its_file_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(folder)]) == 0
    assert "3 identical, 0 different" in capsys.readouterr().out


def test_verifying_nothing_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(folder / SCORED), "--episode", "no such"]) == 2
    assert "there is no episode 'no such' in" in capsys.readouterr().err


def test_report_prints_and_writes_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder)]) == 0

    output = capsys.readouterr().out
    assert "3 episodes: 3 passed" in output
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_exports_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("chat", "reinforcement"):
        assert main(["export", str(folder), "--form", form, "--output", str(folder / form)]) == 0
        assert f"3 rows in {folder / form}" in capsys.readouterr().out


def test_a_missing_folder_gives_a_message_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "no/such/folder"]) == 2
    assert "no/such/folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["verify", "no/such/file"], "no/such/file: No such file or directory"),
        (["verify", "."], "there is no recorded episode in ."),
        (["verify", __file__], "is not a trajectory of this schema"),
        (["view", __file__], "holds no recordings: name a folder"),
        (["view", "."], "there are no recordings in ."),
        (["run", "--model", "python:json.dumps", "--tasks", "crm/no-such"], "no task is called 'crm/no-such'"),
        (["run", "--model", "python:json.dumps", "--first-seed", str(2**63 - 1)], "a seed must be less than 2**63"),
        (["report", "."], "there is no recorded episode in ."),
        (["export", ".", "--form", "chat", "--output", "x"], "there is no episode in ., nothing was exported"),
        (["tasks", "--product", "payroll"], "no product is called 'payroll'; there are"),
        (["play", "--task", "crm/no-such-task"], "crm/no-such-task"),
        (["play", "--world", "huge"], "huge"),
        (["play", "--faults", "many"], "many"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def read_columns(printed: str) -> dict[str, dict[str, str]]:
    """The rows of a table by their first cell; columns stand two spaces apart, and cells hold none of these."""
    head, _, *rows = [re.split(r" {2,}", line.strip()) for line in printed.splitlines()]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def test_tasks_are_listed_with_the_tokens_of_each_surface(
    connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    operations = connection.run(discover_operations(connection.address.control, "standard", ()))

    assert main(["tasks"]) == 0

    rows = read_columns(capsys.readouterr().out)
    families = {family.id: family for family in connection.run(connection.address.control.families()).families}
    assert rows.keys() == families.keys()
    for name, row in rows.items():
        own = operations.of_products(families[name].products)
        counted = {surface: int(row[f"tokens of {surface}"].replace(",", "")) for surface in ("search", "core", "full")}
        assert counted == {surface: own.surface(surface).tokens for surface in counted}
        assert 200 < counted["search"] <= 1_200 < counted["core"] <= 25_000
        assert counted["core"] < counted["full"]


def test_the_tokens_of_the_surface_task_are_those_of_a_familys_own_tools(
    connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", "--product", "crm", "--surface", "task"]) == 0

    rows = read_columns(capsys.readouterr().out)
    with dayshift.Episode.open(TASK, seed=0, surface="task", connection=connection) as episode:
        assert episode.surface is not None
        assert rows[TASK]["tokens of task"] == f"{episode.surface.tokens:,}"
    assert len({row["tokens of task"] for row in rows.values()}) > 3


def test_a_surface_that_there_is_not_is_refused(address: Address, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--surface", "nosuch"]) == 2
    assert "there is no surface 'nosuch'; there are core, search, task" in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["-1", str(2**63), "x"])
def test_a_seed_that_cannot_be_is_refused_before_anything_is_sent(
    seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--control-url", "http://127.0.0.1:1", "play", "--seed", seed])
    assert "--seed" in capsys.readouterr().err


@pytest.mark.parametrize("bad", [{"seed": 2**63}, {"task": ["crm/correct-contact"]}, {"split": "dev"}])
def test_an_episode_that_cannot_be_opened_is_the_callers_error(bad: dict[str, object]) -> None:
    request: dict[str, object] = {"task": TASK, **bad}
    with pytest.raises(dayshift.UsageError, match=f"^no episode opens so: {next(iter(bad))}.*cannot be"):
        dayshift.Episode.open(**request)  # type: ignore[arg-type]


def test_every_option_says_what_it_is_for() -> None:
    actions = [action for parser in _parsers() for action in parser._actions]

    assert [action.option_strings or action.dest for action in actions if not action.help] == []


def test_every_bad_value_is_refused_in_one_plain_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    typed = [(parser, action) for parser in _parsers() for action in parser._actions if action.type is not None]

    assert len(typed) > 15
    for parser, action in typed:
        for bad in ("abc", "-1.5"):
            with pytest.raises(SystemExit, match="2"):
                parser.parse_args([f"{action.option_strings[0]}={bad}"])
            (refusal,) = capsys.readouterr().err.splitlines()
            assert refusal.startswith(f"{parser.prog}: argument {'/'.join(action.option_strings)}: ")
            assert bad in refusal
            assert re.search(r" is (not a|less than) ", refusal), refusal
            assert refusal.endswith(f"; `{parser.prog} --help` lists what it takes")


def _parsers() -> Iterator[argparse.ArgumentParser]:
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"{VERSION}\n"


def test_a_reader_who_has_seen_enough_gets_no_traceback() -> None:
    # `true` reads nothing and is gone long before the table is printed.
    command = f"{sys.executable} -m dayshift tasks | true"
    done = subprocess.run(["bash", "-c", command], env=os.environ, capture_output=True, text=True, check=False)

    assert done.stderr == ""


@pytest.mark.parametrize(
    ("redirected", "refusal"), [(">&-", ""), ("> /dev/full", "dayshift: the output: No space left on device\n")]
)
def test_output_that_cannot_be_written_gives_no_traceback(redirected: str, refusal: str) -> None:
    command = f"{sys.executable} -m dayshift tasks {redirected}"
    done = subprocess.run(["bash", "-c", command], env=os.environ, capture_output=True, text=True, check=False)

    assert done.stderr == refusal
    assert done.returncode == (2 if refusal else 0)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def solve(session:\n", "SyntaxError: "),
        ("import no_such_package\n", "No module named 'no_such_package'"),
        ("raise ValueError('no key')\n", "ValueError: no key"),
        ("solve = 5\n", "is not a function"),
    ],
)
def test_an_agent_that_cannot_be_imported_is_refused_in_one_sentence(
    source: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"agent_{zlib.crc32(source.encode())}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)

    assert main(["run", "--model", f"python:{name}.solve", "--output", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"dayshift: python:{name}.solve ")
    assert sentence in said
    assert said.count("\n") == 1


def test_a_run_tells_what_its_agent_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raising_agent.py").write_text("def solve(session):\n    raise KeyError('email')\n")
    monkeypatch.syspath_prepend(tmp_path)
    run = ["run", "--model", "python:raising_agent.solve", "--tasks", TASK, "--seeds", "1"]

    assert main([*run, "--output", str(tmp_path / "run")]) == 1
    assert "unscored because of a bug in the agent: 1, the first by KeyError: 'email'" in capsys.readouterr().out


def test_a_held_out_family_is_not_called_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--model", "python:json.dumps", "--tasks", "crm/discount-request", "--output", str(tmp_path / "run")]

    assert main(run) == 2
    assert "crm/discount-request: not in this split" in capsys.readouterr().err


def test_the_viewer_says_in_one_sentence_that_its_port_is_taken(
    folder: Path, stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(folder), "--port", str(stack.base)]) == 2
    assert capsys.readouterr().err == f"dayshift: the viewer cannot use port {stack.base}: name another with --port\n"


def test_the_playground_tells_its_addresses_and_credentials(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playground"]) == 0

    output = capsys.readouterr().out
    assert f"http://127.0.0.1:{stack.base + 1}" in output
    assert f"{PLAYGROUND} or pat-na1-{PLAYGROUND}" in output


def test_the_playground_takes_keys_in_the_vendors_form(stack: Stack) -> None:
    asked = {1: f"pat-na1-{PLAYGROUND}", 3: f"sk_test_{PLAYGROUND}"}
    paths = {1: "/crm/v3/objects/contacts", 3: "/v1/customers"}
    for offset, key in asked.items():
        url = f"http://127.0.0.1:{stack.base + offset}{paths[offset]}"
        assert httpx.get(url, headers={"authorization": f"Bearer {key}"}).status_code == 200
        assert httpx.get(url, headers={"authorization": f"Bearer x{key}"}).status_code == 401


def test_the_playground_is_rolled_back(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert PLAYGROUND
    with stack.playground() as client:
        created = client.post("/crm/v3/objects/contacts", json={"properties": {"lastname": "Left behind"}}).json()["id"]
        assert client.get(f"/crm/v3/objects/contacts/{created}").status_code == 200

        assert main(["playground", "--reset"]) == 0

        assert client.get(f"/crm/v3/objects/contacts/{created}").status_code == 404


def test_a_person_can_read_call_submit_and_get_a_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = find_correction(dayshift.OpenRequest(task=TASK, seed=7))[0]
    phone = call.arguments["properties"]["phone"]
    typed = [
        "help",
        "?",
        "? crm.contacts.update",
        "crm.contacts.nope",
        "crm.contacts.get contactId",
        f"{call.operation} contactId={call.arguments['contactId']} properties.phone='{phone}'",
        "submit",
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(typed) + "\n"))

    assert main(["play", "--task", TASK, "--seed", "7"]) == 0

    output = capsys.readouterr().out
    assert "did you mean" in output
    assert "is not name=value" in output
    assert "contactId: string, required, in path" in output
    assert output.count("quit                     leave without a verdict") >= 2
    assert "passed: 1.0" in output


def test_a_person_can_quit_early() -> None:
    output: list[str] = []
    with dayshift.Episode.open(TASK, seed=1) as episode:
        play(episode, lambda: "quit", output.append)

        assert episode.verdict is None
        assert episode.brief in output[0]


def test_values_are_json_unless_the_schema_wants_text() -> None:
    with dayshift.Episode.open(None) as episode:
        offered = episode.operations

        assert parse_line("crm.contacts.get contactId=17", offered).arguments == {"contactId": "17"}
        assert parse_line("crm.contacts.list limit=5", offered).arguments == {"limit": 5}
        created = parse_line("crm.contacts.create properties.lastname='de Wit' properties.phone=12", offered)
        assert created.arguments == {"properties": {"lastname": "de Wit", "phone": "12"}}
        whole = parse_line("""crm.contacts.create properties='{"lastname": "Iyer"}'""", offered)
        assert whole.arguments == {"properties": {"lastname": "Iyer"}}
        with pytest.raises(dayshift.UsageError):
            parse_line("crm.contacts.get contactId='unfinished", offered)
        assert "PATCH" in describe_operation(offered["crm.contacts.update"])


def test_completion_offers_operations_then_arguments() -> None:
    with dayshift.Episode.open(None) as episode:
        first = [word for word, _ in list_completions(episode.operations, "contacts.up")]
        then = list_completions(episode.operations, "crm.contacts.update contactId=1 pro")

        assert "crm.contacts.update" in first
        assert then == [("properties=", "pro")]
        assert list_completions(episode.operations, "nothing here") == []


def test_the_prompt_reads_what_is_typed_into_a_terminal() -> None:
    with (
        dayshift.Episode.open(None) as episode,
        create_pipe_input() as typed,
        create_app_session(input=typed, output=DummyOutput()),
    ):
        typed.send_text("crm.contacts.list limit=1\n")

        assert create_prompt(episode.operations)() == "crm.contacts.list limit=1"


def test_a_rollout_on_a_terminal_shows_a_progress_bar_with_counts(capsys: pytest.CaptureFixture[str]) -> None:
    async def watch() -> None:
        async for _ in dayshift.rollouts(diligent, list(dayshift.tasks(TASK, seeds=range(2))), progress=True):
            pass

    asyncio.run(watch())

    assert "2/2" in capsys.readouterr().err
