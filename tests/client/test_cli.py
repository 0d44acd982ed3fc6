"""The dayshift command."""

import asyncio
import io
from pathlib import Path

import dayshift
import pytest
from dayshift.cli import main
from dayshift.connection import Address
from dayshift.play import create_prompt, describe_operation, list_completions, parse_line, play
from dayshift.recorder import SCORED
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


def test_verifying_an_empty_selection_fails(folder: Path) -> None:
    assert main(["verify", str(folder / SCORED), "--episode", "no such"]) == 1


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
