"""Every operation of the workspace API through its own SDK, unmodified."""

import time
from datetime import datetime

import pytest
from daytona import CreateSandboxFromSnapshotParams, Daytona, DaytonaConfig, FileUpload, Sandbox, SessionExecuteRequest
from daytona.common.errors import DaytonaError, DaytonaNotFoundError
from daytona.common.lsp_server import LspCompletionPosition

from tests.contract.unreadable_forms import send_unreadable_forms
from tests.ide.sample import NOW_MS
from tests.ide.service import Episode

HOME = "/home/dev"


@pytest.fixture
def sdk(episode: Episode) -> Daytona:
    return Daytona(DaytonaConfig(api_key=episode.token, api_url=f"{episode.url}/api", target="eu"))


@pytest.fixture
def sandbox(sdk: Daytona) -> Sandbox:
    return sdk.create(CreateSandboxFromSnapshotParams(language="python", env_vars={"TEAM": "billing"}))


def test_sandboxes_are_created_found_stopped_started_and_deleted(sdk: Daytona, sandbox: Sandbox) -> None:
    assert sandbox.state == "started"
    assert sdk.get(sandbox.id).id == sandbox.id
    assert {item.id for item in sdk.list()} == {sandbox.id, sdk.get("dev").id}

    sandbox.stop()
    assert sdk.get(sandbox.id).state == "stopped"
    sandbox.start()
    assert sdk.get(sandbox.id).state == "started"
    assert sandbox.set_labels({"tier": "one"}) == {"tier": "one"}
    sandbox.delete()

    with pytest.raises(DaytonaNotFoundError):
        sdk.get(sandbox.id)


def test_a_command_says_its_output_and_its_exit_code(sandbox: Sandbox) -> None:
    ran = sandbox.process.exec(
        "echo $WHO $TEAM; pwd; echo wrong >&2; exit 3", cwd=HOME, env={"WHO": "dana"}, timeout=10
    )

    assert (ran.exit_code, ran.result) == (3, "dana billing\n/home/dev\nwrong\n")


def test_code_runs_in_the_python_of_the_workspace(sandbox: Sandbox) -> None:
    assert sandbox.process.code_run("import sys; print(sum(range(10)), sys.version_info[:2])").result == "45 (3, 11)\n"


def test_a_command_past_its_time_is_ended_and_the_workspace_goes_on(sandbox: Sandbox) -> None:
    began = time.monotonic()
    with pytest.raises(DaytonaError, match="timeout"):
        sandbox.process.exec("sleep 60", timeout=1)

    assert time.monotonic() - began < 10
    assert sandbox.process.exec("echo here").result == "here\n"


def test_a_session_keeps_its_folder_its_variables_and_its_functions(sandbox: Sandbox) -> None:
    sandbox.process.create_session("work")
    for line in ("cd /tmp", "X=41", "more() { echo $((X + 1)); }"):
        sandbox.process.execute_session_command("work", SessionExecuteRequest(command=line))
    ran = sandbox.process.execute_session_command(
        "work", SessionExecuteRequest(command="pwd; more; echo bad >&2; false")
    )

    assert (ran.stdout, ran.stderr, ran.exit_code) == ("/tmp\n42\n", "bad\n", 1)
    session = sandbox.process.get_session("work")
    assert [command.command for command in session.commands][:2] == ["cd /tmp", "X=41"]
    assert sandbox.process.get_session_command("work", ran.cmd_id).exit_code == 1
    sandbox.process.delete_session("work")
    assert sandbox.process.list_sessions() == []


def test_a_command_in_the_background_has_logs_and_reads_input(sandbox: Sandbox) -> None:
    sandbox.process.create_session("bg")
    request = SessionExecuteRequest(command="echo ready; read name; echo hello $name", run_async=True)
    started = sandbox.process.execute_session_command("bg", request)
    assert started.exit_code is None

    sandbox.process.send_session_command_input("bg", started.cmd_id, "dana\n")
    for _ in range(100):
        logs = sandbox.process.get_session_command_logs("bg", started.cmd_id)
        if "hello" in (logs.output or ""):
            break
        time.sleep(0.02)

    assert logs.stdout == "ready\nhello dana\n"
    assert sandbox.process.get_session_command("bg", started.cmd_id).exit_code == 0


def test_files_are_written_read_listed_found_replaced_moved_and_deleted(sandbox: Sandbox) -> None:
    fs = sandbox.fs
    fs.create_folder(f"{HOME}/notes", "755")
    fs.upload_file(b"one\ntwo\n", f"{HOME}/notes/a.txt")
    fs.upload_files(
        [
            FileUpload(source=b"two\n", destination=f"{HOME}/notes/b.txt"),
            FileUpload(source=b"\x00\xff", destination=f"{HOME}/notes/c.bin"),
        ]
    )

    assert fs.download_file(f"{HOME}/notes/a.txt") == b"one\ntwo\n"
    assert fs.download_file(f"{HOME}/notes/c.bin") == b"\x00\xff"
    assert [file.name for file in fs.list_files(f"{HOME}/notes")] == ["a.txt", "b.txt", "c.bin"]
    info = fs.get_file_info(f"{HOME}/notes/a.txt")
    assert (info.size, info.is_dir, info.permissions, info.owner) == (8, False, "0644", "dev")
    assert [(match.file, match.line, match.content) for match in fs.find_files(f"{HOME}/notes", "t.o")] == [
        (f"{HOME}/notes/a.txt", 2, "two"),
        (f"{HOME}/notes/b.txt", 1, "two"),
    ]
    assert fs.search_files(f"{HOME}/notes", "*.txt").files == [f"{HOME}/notes/a.txt", f"{HOME}/notes/b.txt"]
    assert [
        item.success for item in fs.replace_in_files([f"{HOME}/notes/a.txt", f"{HOME}/notes/none"], "two", "2")
    ] == [
        True,
        False,
    ]
    fs.set_file_permissions(f"{HOME}/notes/a.txt", mode="600")
    fs.move_files(f"{HOME}/notes/a.txt", f"{HOME}/notes/z.txt")
    assert fs.get_file_info(f"{HOME}/notes/z.txt").permissions == "0600"
    assert fs.download_file(f"{HOME}/notes/z.txt") == b"one\n2\n"
    fs.delete_file(f"{HOME}/notes", recursive=True)
    with pytest.raises(DaytonaNotFoundError):
        fs.get_file_info(f"{HOME}/notes")


def test_every_time_that_is_shown_is_the_companys(sandbox: Sandbox) -> None:
    """The machine's clock shows in no answer: of the sandbox, of files, checked out and new, and of commits."""
    sandbox.fs.upload_file(b"one\n", f"{HOME}/uploaded.txt")
    sandbox.process.exec("mkdir made && echo one > made/one.txt && echo two >> ledger/README.md")
    sandbox.process.exec("git commit -q -am 'Say more' && git log --format=%ct > ../commits.txt", f"{HOME}/ledger")
    folders = (HOME, f"{HOME}/made", f"{HOME}/ledger", f"{HOME}/ledger/src/ledger")
    dates = [file.mod_time for folder in folders for file in sandbox.fs.list_files(folder)]
    dates += [sandbox.created_at or "", sandbox.updated_at or ""]
    moments = [datetime.fromisoformat(date).timestamp() for date in dates]
    moments += [int(second) for second in sandbox.fs.download_file(f"{HOME}/commits.txt").split()]

    now = NOW_MS / 1000
    assert len(moments) > 12
    assert [moment for moment in moments if not now - 61 * 86_400 <= moment <= now + 600] == []


def test_git_from_status_to_push(sandbox: Sandbox, episode: Episode) -> None:
    git, repo = sandbox.git, f"{HOME}/ledger"
    assert git.status(repo).current_branch == "main"
    git.create_branch(repo, "tidy")
    git.checkout_branch(repo, "tidy")
    sandbox.fs.upload_file(b"tidy\n", f"{repo}/NOTES.md")
    status = git.status(repo)
    assert [(file.name, file.staging.value, file.worktree.value) for file in status.file_status] == [
        ("NOTES.md", "Untracked", "Untracked")
    ]
    git.add(repo, ["NOTES.md"])
    commit = git.commit(repo, "Notes", "Dana Reyes", "dana@tallyport.io")
    git.push(repo)

    assert git.branches(repo).branches == ["main", "tidy"]
    assert episode.execute("git log -1 --format=%H", cwd=repo)["stdout"].strip() == commit.sha
    git.clone("git@code.tallyport.io:tallyport/ledger.git", f"{HOME}/second", branch="tidy")
    assert sandbox.fs.download_file(f"{HOME}/second/NOTES.md") == b"tidy\n"
    git.pull(f"{HOME}/second")
    git.checkout_branch(repo, "main")
    git.delete_branch(repo, "tidy")
    assert git.branches(repo).branches == ["main"]


def test_a_push_to_the_protected_branch_is_declined(sandbox: Sandbox) -> None:
    repo = f"{HOME}/ledger"
    sandbox.process.exec("echo x > x && git add x && git commit -qm x", cwd=repo)

    with pytest.raises(DaytonaError, match=r"declined|Protected"):
        sandbox.git.push(repo)


def test_the_language_server_completes_and_outlines(sandbox: Sandbox) -> None:
    lsp = sandbox.create_lsp_server("python", f"{HOME}/ledger")
    lsp.start()
    path = f"{HOME}/ledger/src/ledger/money.py"
    lsp.did_open(path)
    symbols = lsp.document_symbols(path)
    assert {"parse", "split", "discount"} <= {symbol.name for symbol in symbols}

    sandbox.fs.upload_file(b"from ledger import money\nmoney.dis", f"{HOME}/ledger/src/use.py")
    completions = lsp.completions(f"{HOME}/ledger/src/use.py", LspCompletionPosition(line=1, character=9))
    assert [item.label for item in completions.items] == ["discount"]
    assert [symbol.name for symbol in lsp.sandbox_symbols("discount")] == ["discount"]
    lsp.did_close(path)
    lsp.stop()


def test_the_linter_speaks_through_a_command(sandbox: Sandbox) -> None:
    sandbox.fs.upload_file(b"import os\n", f"{HOME}/ledger/bad.py")
    ran = sandbox.process.exec("ruff check --no-cache --output-format=concise bad.py", cwd=f"{HOME}/ledger")

    assert ran.exit_code == 1
    assert "bad.py:1:8: F401" in ran.result


def test_the_public_tests_run(sandbox: Sandbox) -> None:
    ran = sandbox.process.exec("pytest -q -p no:cacheprovider", cwd=f"{HOME}/ledger", timeout=60)

    assert ran.exit_code == 0, ran.result
    assert "4 passed" in ran.result


def test_work_happens_in_the_home_of_whoever_works(sandbox: Sandbox) -> None:
    assert sandbox.get_work_dir() == HOME
    assert sandbox.get_user_home_dir() == HOME


def test_a_wrong_key_is_refused(episode: Episode) -> None:
    client = Daytona(DaytonaConfig(api_key="nobody-knows-this", api_url=f"{episode.url}/api", target="eu"))

    with pytest.raises(DaytonaError):
        client.create()


def test_a_form_that_cannot_be_read_is_the_senders_mistake_and_spoils_nothing(
    episode: Episode, sandbox: Sandbox
) -> None:
    files = f"/toolbox/{sandbox.id}/files"
    with episode.client() as http:
        answered = [send_unreadable_forms(http, path) for path in ("/upload", f"{files}/bulk-upload")]

    assert answered == [{400}, {400}]
    assert episode.verify() == []
