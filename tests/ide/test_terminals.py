"""Terminals and followed logs over WebSockets, through the vendor's own SDK, unmodified."""

import asyncio
import time

import httpx
import pytest
from daytona import (
    AsyncDaytona,
    CreateSandboxFromSnapshotParams,
    Daytona,
    DaytonaConfig,
    Sandbox,
    SessionExecuteRequest,
)
from daytona.common.errors import DaytonaConflictError, DaytonaError, DaytonaNotFoundError
from daytona.common.pty import PtySize
from daytona.handle.pty_handle import PtyHandle
from websockets.asyncio.client import connect

from services.control.relay_process import RelayProcess
from tests.ide.service import Episode, free_port


@pytest.fixture
def config(episode: Episode) -> DaytonaConfig:
    return DaytonaConfig(api_key=episode.token, api_url=f"{episode.url}/api", target="eu")


@pytest.fixture
def sandbox(config: DaytonaConfig) -> Sandbox:
    return Daytona(config).create(CreateSandboxFromSnapshotParams(language="python", env_vars={"TEAM": "billing"}))


def read_until(terminal: PtyHandle, text: bytes, seconds: float = 20) -> bytes:
    received = bytearray()
    end = time.monotonic() + seconds
    while text not in received and time.monotonic() < end:
        terminal.wait(on_data=received.extend, timeout=0.2)
    assert text in received, bytes(received)
    return bytes(received)


def test_a_terminal_is_typed_to_resized_and_left_with_its_exit_code(sandbox: Sandbox) -> None:
    size = PtySize(rows=30, cols=101)
    terminal = sandbox.process.create_pty_session(id="t", cwd="/tmp", envs={"WHO": "dana"}, pty_size=size)
    terminal.send_input("tty; echo $WHO $TEAM $TERM $PWD; stty size\n")
    shown = read_until(terminal, b"30 101\r\n")
    info = terminal.resize(PtySize(rows=20, cols=60))
    terminal.send_input("stty size; exit 7\n")
    received = bytearray()
    result = terminal.wait(on_data=received.extend, timeout=20)

    assert b"/dev/pts/" in shown
    assert b"dana billing xterm-256color /tmp\r\n" in shown
    assert (info.rows, info.cols, info.active, info.envs["WHO"]) == (20, 60, True, "dana")
    assert b"20 60\r\n" in received
    assert (result.exit_code, result.error) == (7, None)
    assert sandbox.process.list_pty_sessions() == []
    terminal.disconnect()


def test_keys_reach_the_program_that_runs(sandbox: Sandbox) -> None:
    terminal = sandbox.process.create_pty_session(id="keys")
    terminal.send_input("sleep 60\n")
    time.sleep(0.3)
    terminal.send_input(b"\x03")
    terminal.send_input("echo ended $?\n")

    read_until(terminal, b"ended 130\r\n")
    terminal.kill()
    terminal.disconnect()


def test_two_clients_see_one_terminal_which_outlives_them(sandbox: Sandbox) -> None:
    first = sandbox.process.create_pty_session(id="shared")
    second = sandbox.process.connect_pty_session("shared")
    first.send_input("X=41\n")
    second.send_input("echo $((X + 1))\n")
    read_until(first, b"\r42\r\n")
    read_until(second, b"\r42\r\n")
    first.disconnect()
    second.disconnect()

    again = sandbox.process.connect_pty_session("shared")
    again.send_input("echo $((X + 2))\n")
    read_until(again, b"\r43\r\n")
    assert [session.id for session in sandbox.process.list_pty_sessions()] == ["shared"]
    sandbox.process.kill_pty_session("shared")
    assert again.wait(timeout=20).exit_code == 137
    again.disconnect()


def test_what_cannot_be_opened_is_refused_with_its_status(sandbox: Sandbox, episode: Episode) -> None:
    terminal = sandbox.process.create_pty_session(id="one")
    with pytest.raises(DaytonaConflictError):
        sandbox.process.create_pty_session(id="one")
    with pytest.raises(DaytonaNotFoundError):
        sandbox.process.create_pty_session(id="two", cwd="/no/such/folder")
    with pytest.raises(DaytonaError):
        sandbox.process.connect_pty_session("none")
    with pytest.raises(DaytonaNotFoundError):
        sandbox.process.kill_pty_session("none")
    with episode.client() as client:
        plain = client.get(f"/toolbox/{sandbox.id}/process/pty/one/connect")
    terminal.disconnect()

    assert (plain.status_code, "websocket" in plain.json()["message"]) == (400, True)


def test_a_socket_without_a_credential_is_refused(sandbox: Sandbox, episode: Episode) -> None:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "x3JJHMbDL1EzLkh9GBhXDw==",
    }
    answer = httpx.get(f"{episode.url}/toolbox/{sandbox.id}/process/pty/create-connect?id=x", headers=upgrade)

    assert answer.status_code == 401
    assert sandbox.process.list_pty_sessions() == []


def test_the_end_of_an_episode_ends_its_terminals(sandbox: Sandbox, episode: Episode) -> None:
    terminal = sandbox.process.create_pty_session(id="last")
    episode.close()

    result = terminal.wait(timeout=20)
    terminal.disconnect()

    assert result.exit_code == 137


def test_logs_are_followed_as_they_are_written(sandbox: Sandbox) -> None:
    sandbox.process.create_session("build")
    line = "echo one; sleep 0.4; echo wrong >&2; sleep 0.4; printf 'zw\\u00f6lf'"
    started = sandbox.process.execute_session_command("build", SessionExecuteRequest(command=line, run_async=True))
    heard: list[tuple[str, str, float]] = []
    began = time.monotonic()
    asyncio.run(
        sandbox.process.get_session_command_logs_async(
            "build",
            started.cmd_id,
            lambda text: heard.append(("out", text, time.monotonic() - began)),
            lambda text: heard.append(("err", text, time.monotonic() - began)),
        )
    )

    assert "".join(text for kind, text, _ in heard if kind == "out") == "one\nzw\u00f6lf"
    assert "".join(text for kind, text, _ in heard if kind == "err") == "wrong\n"
    assert heard[-1][2] - heard[0][2] > 0.5


def test_the_asynchronous_client_has_terminals_too(config: DaytonaConfig, sandbox: Sandbox) -> None:
    async def play() -> tuple[bytes, int | None]:
        received = bytearray()
        async with AsyncDaytona(config) as sdk:
            same = await sdk.get(sandbox.id)
            terminal = await same.process.create_pty_session(id="async", on_data=received.extend)
            await terminal.send_input("echo $((20 + 22)); exit 3\n")
            result = await asyncio.wait_for(terminal.wait(), 20)
            await terminal.disconnect()
        return bytes(received), result.exit_code

    received, exit_code = asyncio.run(play())

    assert b"\r42\r\n" in received
    assert exit_code == 3


def test_terminals_pass_the_relay_in_front_of_replicas(sandbox: Sandbox, episode: Episode) -> None:
    async def play() -> bytes:
        relay, port = RelayProcess(), free_port()
        to = httpx.URL(episode.url)
        await relay.execute({"host": "127.0.0.1", "listen": port, "to": [to.host, to.port]})
        address = f"ws://127.0.0.1:{port}/toolbox/{sandbox.id}/process/pty/create-connect?id=relayed"
        headers = {"authorization": f"Bearer {episode.token}"}
        received = b""
        async with connect(address, additional_headers=headers) as socket:
            await socket.send(b"echo $((20 + 22)); exit\n")
            async for message in socket:
                received += message if isinstance(message, bytes) else message.encode()
        await relay.execute({"leave": port})
        return received

    assert b"\r42\r\n" in asyncio.run(play())
