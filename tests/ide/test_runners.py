"""Isolation is chosen by setting, works for root and for anybody, and without it nothing starts."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import docker
import orjson
import pytest
from docker.errors import DockerException

from services import interpreter
from services.ide import guest
from services.ide.sandbox import pool
from services.ide.sandbox.bubblewrap import Bubblewrap
from services.ide.sandbox.containers import Containers, require_listener
from services.ide.sandbox.image import Image, ImageEntry
from services.ide.sandbox.isolation import NoIsolation, Runner
from services.ide.sandbox.limits import Limits
from services.ide.sandbox.pool import SandboxPool
from services.ide.sandbox.sandbox import GuestRefused
from services.kernel.config import BadSetting, SandboxSettings, Settings
from services.kernel.product import CannotStart
from tests.ide.service import run_service

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]
SESSIONS_SHARE = Path("/proc/self/autogroup").exists()
STAND_IN = "python:3.11-slim-bookworm"
ANYBODY = """
import asyncio
from services.ide.sandbox.limits import Limits
from services.ide.sandbox.bubblewrap import Bubblewrap

async def main():
    runner = Bubblewrap()
    await runner.check()
    sandbox = await runner.start(Limits())
    ran = await sandbox.run(["/bin/bash", "-c", "id -un; touch /usr/x; cat /proc/1/environ"], seconds=10, merged=True)
    sandbox.end()
    print(ran.text)

asyncio.run(main())
"""


async def check_runner(runner: Runner) -> None:
    """What every kind of sandbox must do and must not allow."""
    await runner.check()
    sandbox = await runner.start(Limits(processes=64))
    try:
        await Image.of(
            [
                ImageEntry("a/b.txt", 0o100644, b"hello\n", 1_700_000_000),
                ImageEntry("a/run", 0o100755, b"#!/bin/sh\necho ran\n"),
            ]
        ).lay_out(sandbox)
        result = await sandbox.run(["/bin/bash", "-c", "cat a/b.txt; ./a/run; id -u"], seconds=20)
        assert result.text == "hello\nran\n1000\n"
        await sandbox.request("session_open", session="s")
        await sandbox.request("session_run", session="s", key="1", command="X=5; cd /tmp")
        assert (await sandbox.request("session_run", session="s", key="2", command="echo $X $PWD")).blob == b"5 /tmp\n"
        slow = await sandbox.run(["sleep", "30"], seconds=0.3)
        assert (slow.timed_out, slow.exit_code) == (True, 137)
        attempt = await sandbox.run(
            [
                "/bin/bash",
                "-c",
                "(echo x > /usr/x) 2>&1; cat /proc/1/environ 2>&1; python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 1)' 2>&1 | tail -1",
            ],
            seconds=20,
        )
        assert "Read-only file system" in attempt.text
        assert "Permission denied" in attempt.text
        assert "Network is unreachable" in attempt.text
        bomb = await sandbox.run(["/bin/bash", "-c", "b() { b | b & }; b; sleep 1"], seconds=8)
        await sandbox.kill_everything()
        assert bomb.exit_code != 0 or bomb.stderr
        assert (await sandbox.run(["echo", "alive"], seconds=20)).text == "alive\n"
    finally:
        sandbox.end()
        await runner.close()


def engine_answers() -> bool:
    settings = Settings.from_environment().sandbox
    try:
        require_listener(settings)
        engine = docker.from_env(environment=dict(settings.docker))
        answers = bool(engine.ping())
        engine.close()
    except (OSError, DockerException):
        return False
    return answers


async def test_bubblewrap_isolates() -> None:
    await check_runner(Bubblewrap())


async def test_containers_isolate_where_an_engine_answers_and_are_refused_where_none_does() -> None:
    runner = Containers(SandboxSettings("docker", STAND_IN))
    if engine_answers():
        await check_runner(runner)
    else:
        with pytest.raises(NoIsolation, match="no Docker engine"):
            await runner.check()


def test_bubblewrap_works_for_a_user_without_rights() -> None:
    """The project and its interpreter may stand where only their owner can look: a copy and the system's own run."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        Path(folder).chmod(0o755)
        shutil.copytree(ROOT / "services", f"{folder}/services", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(Path(orjson.__file__).parent, f"{folder}/orjson")
        somebody = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups"] if os.geteuid() == 0 else []
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [*somebody, "/usr/bin/python3.11", "-c", ANYBODY]
        result = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd="/")

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == "dev"
    assert "Read-only" in result.stdout
    assert "Permission denied" in result.stdout


def test_without_isolation_the_service_does_not_start_and_says_what_to_install(tmp_path: Path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    with (
        pytest.raises(RuntimeError, match=r"bwrap is not installed: apt-get install bubblewrap"),
        run_service(tmp_path, PATH=f"{bare}:/nonexistent"),
    ):
        pass


def test_an_unknown_kind_of_isolation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="neither bubblewrap nor docker"):
        Settings.from_environment({"DAYSHIFT_SANDBOX": "subprocess", "DAYSHIFT_VAR": str(tmp_path)})


async def test_an_engine_without_the_image_is_refused_by_name() -> None:
    with pytest.raises(NoIsolation, match="no-such-image"):
        await Containers(SandboxSettings("docker", "no-such-image")).check()


async def test_what_runs_inside_stands_behind_the_services_whatever_the_kernel_shares_the_machine_by() -> None:
    runner, limits = Bubblewrap(), Limits()
    sandbox = await runner.start(limits)
    # One try in a tenth of a second is all that the kernel grants to the whole machine.
    script = (
        "for n in $(seq 80); do told=$(cat /proc/self/autogroup 2>/dev/null); "
        f"case $told in ''|*' nice {limits.nice_share}') break;; esac; sleep 0.1; done; echo ${{told##* }} $(nice)"
    )
    result = await sandbox.run(["/bin/bash", "-c", script], seconds=30)
    sandbox.end()
    await runner.close()

    assert result.text.split() == [*([str(limits.nice_share)] if SESSIONS_SHARE else []), str(limits.nice)]


async def test_a_program_starts_as_from_a_shell_and_inherits_nothing_else() -> None:
    runner = Bubblewrap()
    sandbox = await runner.start(Limits())
    try:
        # A program that reads no more ends its writer, as everywhere: Python itself would have ignored that.
        written = await sandbox.run(["/bin/bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}"], seconds=20)
        assert written.text == "y\n141\n"
        opened = await sandbox.run(["ls", "/proc/self/fd"], seconds=20)
        # 0, 1, 2, and the listing's own.
        assert opened.text.split() == ["0", "1", "2", "3"]
        await sandbox.request("session_open", session="s")
        inside = await sandbox.request("session_run", session="s", key="1", command="ls /proc/self/fd | tr '\\n' ' '")
        assert inside.blob.split() == [b"0", b"1", b"2", b"3"]
        alone = await sandbox.run(["/bin/bash", "-c", "ps -o pgid= -p $$ | tr -d ' '; echo $$"], seconds=20)
        assert len(set(alone.text.split())) == 1
    finally:
        sandbox.end()
        await runner.close()


async def test_a_program_that_cannot_be_started_is_told_of_by_name_and_the_next_one_starts_at_home() -> None:
    runner = Bubblewrap()
    sandbox = await runner.start(Limits())
    try:
        await Image.of(
            [
                ImageEntry("bin/plain", 0o100644, b"x"),
                ImageEntry("bin/\u00e9t\u00e9", 0o100755, b"#!/bin/sh\npwd\n"),
            ]
        ).lay_out(sandbox)
        for argv, cwd, kind, path in (
            (["no-such-program"], None, "FileNotFoundError", "no-such-program"),
            (["/home/dev/bin/plain"], None, "PermissionError", "/home/dev/bin/plain"),
            (["true"], "/no/such/folder", "FileNotFoundError", "/no/such/folder"),
        ):
            with pytest.raises(GuestRefused) as refused:
                await sandbox.run(argv, cwd=cwd, seconds=20)
            assert (refused.value.kind, refused.value.path) == (kind, path)
        assert (await sandbox.run(["./bin/\u00e9t\u00e9"], seconds=20)).text == "/home/dev\n"
        assert (await sandbox.run(["pwd"], cwd="/tmp", seconds=20)).text == "/tmp\n"
        assert (await sandbox.request_file("read", path="bin/plain")).blob == b"x"
    finally:
        sandbox.end()
        await runner.close()


async def test_memory_of_all_processes_together_is_bounded_from_outside() -> None:
    sandboxes = SandboxPool(Bubblewrap(), Limits(memory=128 << 20), warm=1)
    await sandboxes.open()
    try:
        sandbox = await sandboxes.take()
        script = "for i in 1 2 3 4; do python3 -c 'x = bytearray(60 << 20); import time; time.sleep(20)' & done; wait; echo survived"
        result = await sandbox.run(["/bin/bash", "-c", script], seconds=15)

        assert sandbox.exceeded_memory
        assert "survived" not in result.text
        assert (await sandbox.run(["echo", "alive"], seconds=20)).text == "alive\n"
    finally:
        await sandboxes.close()


async def test_another_interpreter_is_refused_at_start_with_the_version_that_is_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interpreter.platform, "python_version", lambda: "3.14.4")

    missing = pool.find_missing(Settings())
    with pytest.raises(CannotStart) as refused:
        await pool.open_pool(Settings())

    for message in (missing or "", str(refused.value)):
        assert "Python 3.14.4" in message
        assert "tested on Python 3.11" in message


def test_a_guest_refuses_an_interpreter_whose_private_modules_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guest.sys, "version_info", (3, 14, 1))

    with pytest.raises(SystemExit, match=r"Python 3\.11, 3\.12, 3\.13; its interpreter is Python 3\.14"):
        guest.require_interpreter()


def test_guest_and_services_support_the_same_interpreters() -> None:
    assert tuple(".".join(map(str, version)) for version in guest.PYTHONS) == interpreter.SUPPORTED
