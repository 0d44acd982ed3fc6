"""The dayshift command, as typed."""

import asyncio
import io
from pathlib import Path

import dayshift
import pytest
from dayshift.cli import main
from dayshift.connection import Address
from dayshift.play import completions, describe, parse_line, play, prompt
from dayshift.recorder import SCORED
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from tests.client.tricks import correction, diligent
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


def test_a_healthy_stack_has_nothing_to_complain_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0

    said = capsys.readouterr().out
    assert "✗" not in said
    for what in ("control", "wire", "crm", "world standard", "clocks", "determinism"):
        assert f"✓ {what}" in said


def test_a_stack_that_is_not_there_comes_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--control-url", "http://127.0.0.1:1", "doctor"]) == 1

    said = capsys.readouterr().out
    assert "✗ control" in said
    assert "→ start it" in said


def test_a_wrong_token_comes_with_a_remedy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "not this one")

    assert main(["doctor"]) == 1
    assert "→ set DAYSHIFT_CONTROL_TOKEN" in capsys.readouterr().out


def test_verify_proves_and_disproves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(folder / SCORED)]) == 0
    assert "3 identical, 0 different" in capsys.readouterr().out

    lines = (folder / SCORED).read_text()
    (folder / SCORED).write_text(lines.replace("corvane", "corvine", 1))
    assert main(["verify", str(folder / SCORED)]) == 1
    assert "differs" in capsys.readouterr().out


def test_verifying_nothing_proves_nothing(folder: Path) -> None:
    assert main(["verify", str(folder / SCORED), "--episode", "no such"]) == 1


def test_report_prints_and_writes_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder)]) == 0

    said = capsys.readouterr().out
    assert "3 episodes: 3 passed" in said
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_exports_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("chat", "reinforcement"):
        assert main(["export", str(folder), "--form", form, "--output", str(folder / form)]) == 0
        assert f"3 rows in {folder / form}" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_a_message_not_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "no/such/folder"]) == 2
    assert "no/such/folder" in capsys.readouterr().err


def test_the_playground_is_rolled_back(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert PLAYGROUND
    with stack.playground() as client:
        made = client.post("/crm/v3/objects/contacts", json={"properties": {"lastname": "Left behind"}}).json()["id"]
        assert client.get(f"/crm/v3/objects/contacts/{made}").status_code == 200

        assert main(["playground", "--reset"]) == 0

        assert client.get(f"/crm/v3/objects/contacts/{made}").status_code == 404


def test_a_person_reads_calls_submits_and_is_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = correction(dayshift.OpenRequest(task=TASK, seed=7))[0]
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

    said = capsys.readouterr().out
    assert "did you mean" in said
    assert "is not name=value" in said
    assert "contactId: string, required, in path" in said
    assert "passed: 1.0" in said


def test_leaving_early_is_allowed() -> None:
    shown: list[str] = []
    with dayshift.Episode.open(TASK, seed=1) as episode:
        play(episode, lambda: "quit", shown.append)

        assert episode.verdict is None
        assert episode.brief in shown[0]


def test_values_are_json_unless_the_schema_wants_text() -> None:
    with dayshift.Episode.open(None) as episode:
        offered = episode.operations

        assert parse_line("crm.contacts.get contactId=17", offered).arguments == {"contactId": "17"}
        assert parse_line("crm.contacts.list limit=5", offered).arguments == {"limit": 5}
        made = parse_line("crm.contacts.create properties.lastname='de Wit' properties.phone=12", offered)
        assert made.arguments == {"properties": {"lastname": "de Wit", "phone": "12"}}
        whole = parse_line("""crm.contacts.create properties='{"lastname": "Iyer"}'""", offered)
        assert whole.arguments == {"properties": {"lastname": "Iyer"}}
        with pytest.raises(dayshift.Misuse):
            parse_line("crm.contacts.get contactId='unfinished", offered)
        assert "PATCH" in describe(offered["crm.contacts.update"])


def test_completion_offers_operations_then_arguments() -> None:
    with dayshift.Episode.open(None) as episode:
        first = [word for word, _ in completions(episode.operations, "contacts.up")]
        then = completions(episode.operations, "crm.contacts.update contactId=1 pro")

        assert "crm.contacts.update" in first
        assert then == [("properties=", "pro")]
        assert completions(episode.operations, "nothing here") == []


def test_the_prompt_reads_what_is_typed_into_a_terminal() -> None:
    with (
        dayshift.Episode.open(None) as episode,
        create_pipe_input() as typed,
        create_app_session(input=typed, output=DummyOutput()),
    ):
        typed.send_text("crm.contacts.list limit=1\n")

        assert prompt(episode.operations)() == "crm.contacts.list limit=1"


def test_a_watched_rollout_shows_a_bar_with_its_tally(capsys: pytest.CaptureFixture[str]) -> None:
    async def watch() -> None:
        async for _ in dayshift.rollouts(diligent, list(dayshift.tasks(TASK, seeds=range(2))), progress=True):
            pass

    asyncio.run(watch())

    assert "2/2" in capsys.readouterr().err
