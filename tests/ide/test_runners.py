"""Isolation is chosen by setting, works for root and for anybody, and without it nothing starts."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import orjson
import pytest

from services.ide.containers import Containers, engine_answers
from services.ide.images import Image
from services.ide.limits import Limits
from services.ide.runner import Bubblewrap, NoIsolation, Runner, chosen
from services.ide.sandbox import GuestRefused
from services.ide.workshop import Workshop
from tests.ide.stand import stand

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]
SESSIONS_SHARE = Path("/proc/self/autogroup").exists()
STAND_IN = "python:3.11-slim-bookworm"
ANYBODY = """
import asyncio
from services.ide.limits import Limits
from services.ide.runner import Bubblewrap

async def main():
    runner = Bubblewrap()
    await runner.check()
    sandbox = await runner.start(Limits())
    ran = await sandbox.run(["/bin/bash", "-c", "id -un; touch /usr/x; cat /proc/1/environ"], seconds=10, merged=True)
    sandbox.end()
    print(ran.text)

asyncio.run(main())
"""


async def exercised(runner: Runner) -> None:
    """What every kind of sandbox must do and must not allow."""
    await runner.check()
    sandbox = await runner.start(Limits(processes=64))
    try:
        await Image.of(
            [("a/b.txt", 0o100644, b"hello\n", 1_700_000_000), ("a/run", 0o100755, b"#!/bin/sh\necho ran\n", 0)]
        ).lay_out(sandbox)
        ran = await sandbox.run(["/bin/bash", "-c", "cat a/b.txt; ./a/run; id -u"], seconds=20)
        assert ran.text == "hello\nran\n1000\n"
        await sandbox.ask("session_open", session="s")
        await sandbox.ask("session_run", session="s", key="1", command="X=5; cd /tmp")
        assert (await sandbox.ask("session_run", session="s", key="2", command="echo $X $PWD")).blob == b"5 /tmp\n"
        slow = await sandbox.run(["sleep", "30"], seconds=0.3)
        assert (slow.timed_out, slow.exit) == (True, 137)
        tried = await sandbox.run(
            [
                "/bin/bash",
                "-c",
                "(echo x > /usr/x) 2>&1; cat /proc/1/environ 2>&1; python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 1)' 2>&1 | tail -1",
            ],
            seconds=20,
        )
        assert "Read-only file system" in tried.text
        assert "Permission denied" in tried.text
        assert "Network is unreachable" in tried.text
        bomb = await sandbox.run(["/bin/bash", "-c", "b() { b | b & }; b; sleep 1"], seconds=8)
        await sandbox.kill_everything()
        assert bomb.exit != 0 or bomb.stderr
        assert (await sandbox.run(["echo", "alive"], seconds=20)).text == "alive\n"
    finally:
        sandbox.end()
        await runner.close()


async def test_bubblewrap_isolates() -> None:
    await exercised(Bubblewrap())


async def test_containers_isolate_where_an_engine_answers_and_are_refused_where_none_does() -> None:
    runner = Containers(STAND_IN, None)
    if engine_answers():
        await exercised(runner)
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
        ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd="/")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "dev"
    assert "Read-only" in ran.stdout
    assert "Permission denied" in ran.stdout


def test_without_isolation_the_service_does_not_start_and_says_what_to_install(tmp_path: Path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    with (
        pytest.raises(RuntimeError, match=r"bwrap is not installed: apt-get install bubblewrap"),
        stand(tmp_path, PATH=f"{bare}:/nonexistent"),
    ):
        pass


def test_an_unknown_kind_of_isolation_is_refused() -> None:
    with pytest.raises(NoIsolation, match="neither bubblewrap nor docker"):
        chosen({"DAYSHIFT_SANDBOX": "subprocess"})


async def test_an_engine_without_the_image_is_refused_by_name() -> None:
    with pytest.raises(NoIsolation, match="no-such-image"):
        await Containers("no-such-image", None).check()


async def test_what_runs_inside_stands_behind_the_services_whatever_the_kernel_shares_the_machine_by() -> None:
    runner, limits = Bubblewrap(), Limits()
    sandbox = await runner.start(limits)
    # One try in a tenth of a second is all that the kernel grants to the whole machine.
    script = (
        "for n in $(seq 80); do told=$(cat /proc/self/autogroup 2>/dev/null); "
        f"case $told in ''|*' nice {limits.nice_share}') break;; esac; sleep 0.1; done; echo ${{told##* }} $(nice)"
    )
    ran = await sandbox.run(["/bin/bash", "-c", script], seconds=30)
    sandbox.end()
    await runner.close()

    assert ran.text.split() == [*([str(limits.nice_share)] if SESSIONS_SHARE else []), str(limits.nice)]


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
        await sandbox.ask("session_open", session="s")
        inside = await sandbox.ask("session_run", session="s", key="1", command="ls /proc/self/fd | tr '\\n' ' '")
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
            [("bin/plain", 0o100644, b"x", 0), ("bin/\u00e9t\u00e9", 0o100755, b"#!/bin/sh\npwd\n", 0)]
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
        assert (await sandbox.file("read", path="bin/plain")).blob == b"x"
    finally:
        sandbox.end()
        await runner.close()


async def test_memory_of_all_processes_together_is_bounded_from_outside() -> None:
    workshop = Workshop(Bubblewrap(), Limits(memory=128 << 20), warm=1)
    await workshop.open()
    try:
        sandbox = await workshop.take()
        script = "for i in 1 2 3 4; do python3 -c 'x = bytearray(60 << 20); import time; time.sleep(20)' & done; wait; echo survived"
        ran = await sandbox.run(["/bin/bash", "-c", script], seconds=15)

        assert sandbox.overspent
        assert "survived" not in ran.text
        assert (await sandbox.run(["echo", "alive"], seconds=20)).text == "alive\n"
    finally:
        await workshop.close()
