"""`python -m services up` as a person meets it."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from services.command_line import main
from services.kernel import catalog
from tests.control.stack import Stack, eventually, free_base
from tests.control.worlds import build_worlds

_ROOT = Path(__file__).resolve().parents[2]


def test_one_ctrl_c_stops_all_in_order(start: Callable[..., Stack]) -> None:
    stack = start(DAYSHIFT_WITHOUT="")
    children = stack.children()
    assert set(children) == {*catalog.names(), "mcp", "control", "console"}

    assert stack.stop() == 0

    assert not any(_is_alive(pid) for pid in children.values())
    assert stack.output().index("control │ stopped") < stack.output().index("crm     │ stopped")


def test_nothing_stays_behind_when_the_parent_is_killed(start: Callable[..., Stack]) -> None:
    stack = start()
    children = stack.children()

    stack.process.send_signal(signal.SIGKILL)

    eventually(lambda: not any(_is_alive(pid) for pid in children.values()))


def test_lines_are_prefixed_and_plain_where_no_terminal_is(start: Callable[..., Stack]) -> None:
    stack = start(DAYSHIFT_LOG="info")
    stack.open().contacts()

    eventually(lambda: '"operation":"crm.contacts.list"' in stack.output())
    assert "\033" not in stack.output()
    assert all(line.startswith("crm     │ ") for line in stack.output().splitlines() if "crm.contacts.list" in line)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["up", "--port-base", "-5"], "'-5' is not a positive whole number"),
        (["up", "--port-base", "abc"], "'abc' is not a positive whole number"),
        (["up", "--port-base", "70000"], "70000 leaves no ports above it"),
        (["validate", "--seeds", "0"], "'0' is not a positive whole number"),
        (["instances", "--processes", "0"], "'0' is not a positive whole number"),
    ],
)
def test_a_number_that_cannot_be_is_refused_before_anything_starts(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert sentence in capsys.readouterr().err


def test_a_var_that_is_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "var").write_text("")
    monkeypatch.setenv("DAYSHIFT_VAR", str(tmp_path / "var"))

    assert main(["control"]) == 2
    assert capsys.readouterr().err.startswith(f"dayshift: {tmp_path / 'var'}: ")


def test_lines_are_coloured_on_a_terminal(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    seen, terminal = os.openpty()
    build_worlds(tmp_path / "worlds")
    process = subprocess.Popen(
        [sys.executable, "-m", "services", "up", "--port-base", str(stack.base)],
        env=stack.environment(),
        cwd=_ROOT,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    said = ""
    while not re.search(r"crm .*up at port \d+, \d+\s", said):
        said += os.read(seen, 4096).decode()
    process.send_signal(signal.SIGINT)
    code = process.wait(30)
    os.close(seen)

    assert code == 0
    assert "\033[36mcrm     │ \033[0mup at port" in said


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", stack.base + 1))
        taken.listen()
        ran = _ran(stack, "up", "--port-base", str(stack.base))

    assert ran.returncode == 2
    assert f"port {stack.base + 1}, meant for crm, is in use" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_product_alone_names_its_port_too(tmp_path: Path) -> None:
    stack = Stack(tmp_path, {"DAYSHIFT_CRM_PORT": str(free_base())})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(stack.settings["DAYSHIFT_CRM_PORT"])))
        taken.listen()
        ran = _ran(stack, "crm")

    assert ran.returncode == 2
    assert f"port {stack.settings['DAYSHIFT_CRM_PORT']}" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_setting_that_cannot_be_meant_is_named(tmp_path: Path) -> None:
    ran = _ran(Stack(tmp_path, {"DAYSHIFT_LEASE": "soon"}), "control")

    assert ran.returncode == 2
    assert "DAYSHIFT_LEASE='soon' is not a number" in ran.stderr


def _ran(stack: Stack, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "services", *arguments],
        env=stack.environment(),
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
