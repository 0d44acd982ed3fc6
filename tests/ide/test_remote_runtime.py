"""The nine calls of the remote runtime through its own client, unmodified."""

import asyncio
from pathlib import Path

import pytest
from swerex.exceptions import (
    BashIncorrectSyntaxError,
    CommandTimeoutError,
    NonZeroExitCodeError,
    SessionDoesNotExistError,
    SessionExistsError,
)
from swerex.runtime.abstract import (
    BashAction,
    BashInterruptAction,
    CloseBashSessionRequest,
    Command,
    CreateBashSessionRequest,
    ReadFileRequest,
    UploadRequest,
    WriteFileRequest,
)
from swerex.runtime.remote import RemoteRuntime

from tests.ide.service import Episode

pytestmark = pytest.mark.anyio


@pytest.fixture
def runtime(episode: Episode) -> RemoteRuntime:
    return RemoteRuntime(auth_token=episode.token, host=episode.url, timeout=120)


async def test_the_runtime_says_that_it_lives(runtime: RemoteRuntime) -> None:
    assert (await runtime.is_alive()).is_alive


async def test_a_session_runs_commands_with_state_and_exit_codes(runtime: RemoteRuntime) -> None:
    await runtime.create_session(CreateBashSessionRequest())
    await runtime.run_in_session(BashAction(command="cd /tmp && export X=5"))
    observation = await runtime.run_in_session(BashAction(command="echo $PWD $X; ls /nope", check="silent"))

    assert observation.output == "/tmp 5\nls: cannot access '/nope': No such file or directory\n"
    assert observation.exit_code == 2
    with pytest.raises(NonZeroExitCodeError, match="exit code 1"):
        await runtime.run_in_session(BashAction(command="false", check="raise"))
    with pytest.raises(BashIncorrectSyntaxError):
        await runtime.run_in_session(BashAction(command="if then fi fi"))
    with pytest.raises(SessionExistsError):
        await runtime.create_session(CreateBashSessionRequest())
    await runtime.close_session(CloseBashSessionRequest())
    with pytest.raises(SessionDoesNotExistError):
        await runtime.run_in_session(BashAction(command="echo"))


async def test_a_command_past_its_time_raises_and_the_session_goes_on(runtime: RemoteRuntime) -> None:
    await runtime.create_session(CreateBashSessionRequest())
    with pytest.raises(CommandTimeoutError):
        await runtime.run_in_session(BashAction(command="sleep 30", timeout=0.3))

    assert (await runtime.run_in_session(BashAction(command="echo still here"))).output == "still here\n"


async def test_an_interactive_program_is_spoken_to_and_left(runtime: RemoteRuntime) -> None:
    await runtime.create_session(CreateBashSessionRequest())
    await runtime.run_in_session(
        BashAction(command="python3 -q", is_interactive_command=True, expect=[">>> "], timeout=10)
    )
    observation = await runtime.run_in_session(
        BashAction(command="print(6 * 7)", is_interactive_command=True, expect=[">>> "], timeout=10)
    )
    assert (observation.output, observation.expect_string) == ("42", ">>> ")
    await runtime.run_in_session(BashAction(command="quit()", is_interactive_quit=True, timeout=10))

    assert (await runtime.run_in_session(BashAction(command="echo back"))).output.strip() == "back"


async def test_an_interrupt_ends_what_runs(runtime: RemoteRuntime) -> None:
    await runtime.create_session(CreateBashSessionRequest())
    await runtime.run_in_session(
        BashAction(
            command="python3 -c 'print(\"on\", flush=True); import time; time.sleep(60)'",
            is_interactive_command=True,
            expect=["on"],
            timeout=10,
        )
    )
    await runtime.run_in_session(BashInterruptAction())

    assert (await runtime.run_in_session(BashAction(command="echo free"))).output.strip().endswith("free")


async def test_programs_run_outside_of_sessions(runtime: RemoteRuntime) -> None:
    result = await runtime.execute(Command(command=["sh", "-c", "echo out; echo err >&2; exit 4"]))
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 4)
    result = await runtime.execute(Command(command="echo $A; pwd", shell=True, env={"A": "b"}, cwd="/tmp"))
    assert result.stdout == "b\n/tmp\n"
    with pytest.raises(NonZeroExitCodeError):
        await runtime.execute(Command(command="false", shell=True, check=True))
    with pytest.raises(CommandTimeoutError):
        await runtime.execute(Command(command="sleep 9", shell=True, timeout=0.2))
    with pytest.raises(FileNotFoundError):
        await runtime.execute(Command(command=["no-such-program"]))


async def test_files_are_written_read_and_uploaded(runtime: RemoteRuntime, tmp_path: Path) -> None:
    await runtime.write_file(WriteFileRequest(path="/home/dev/a/b.txt", content="grüße"))
    assert (await runtime.read_file(ReadFileRequest(path="/home/dev/a/b.txt"))).content == "grüße"
    with pytest.raises(FileNotFoundError):
        await runtime.read_file(ReadFileRequest(path="/home/dev/none"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.csv").write_text("1\n")
    await runtime.upload(UploadRequest(source_path=str(tmp_path / "folder"), target_path="/home/dev/up"))
    await runtime.upload(
        UploadRequest(source_path=str(tmp_path / "folder" / "one.csv"), target_path="/home/dev/two.csv")
    )

    result = await runtime.execute(Command(command="cat /home/dev/up/one.csv /home/dev/two.csv", shell=True))
    assert result.stdout == "1\n1\n"
    await runtime.close()


async def test_fifty_sessions_at_once(runtime: RemoteRuntime) -> None:
    names = [f"s{number}" for number in range(50)]
    await asyncio.gather(*(runtime.create_session(CreateBashSessionRequest(session=name)) for name in names))
    await asyncio.gather(*(runtime.run_in_session(BashAction(command=f"ME={name}", session=name)) for name in names))
    observation = await asyncio.gather(
        *(runtime.run_in_session(BashAction(command="echo $ME", session=name)) for name in names)
    )

    assert [one.output for one in observation] == [f"{name}\n" for name in names]


async def test_a_shell_that_loops_by_itself_is_ended_with_its_session(runtime: RemoteRuntime) -> None:
    await runtime.create_session(CreateBashSessionRequest())
    with pytest.raises(CommandTimeoutError):
        await runtime.run_in_session(BashAction(command="while :; do :; done", timeout=0.3))
    with pytest.raises(SessionDoesNotExistError):
        await runtime.run_in_session(BashAction(command="echo"))

    await runtime.create_session(CreateBashSessionRequest())
    assert (await runtime.run_in_session(BashAction(command="echo new"))).output == "new\n"
