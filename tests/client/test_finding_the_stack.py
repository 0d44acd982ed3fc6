"""A client finds the stack of its own machine from any folder, and says in one sentence what is missing."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import dayshift
import pytest
from dayshift.cli import main
from dayshift.connection import Address, Connection
from dayshift.control_token import COMPOSE_DEFAULT, user_token_file, write_user_token

from tests.control.stack import TASK, TOKEN, Stack

_EPISODE = f'import dayshift\nwith dayshift.Episode.open("{TASK}", seed=1) as episode:\n    print(episode.brief)'


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder far from the clone, a user without any token, and no variable."""
    for name in [name for name in os.environ if name.startswith("DAYSHIFT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture(scope="module")
def like_compose(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack with compose's default token, which no file of this machine holds."""
    started = Stack(tmp_path_factory.mktemp("compose"), {"DAYSHIFT_CONTROL_TOKEN": COMPOSE_DEFAULT}).start()
    (started.var / "state" / "dayshift" / f"127.0.0.1-{started.base}.token").unlink()
    yield started
    started.stop()


@pytest.mark.usefixtures("elsewhere")
def test_a_script_in_any_folder_plays_an_episode_beside_a_started_stack(stack: Stack) -> None:
    here = {"DAYSHIFT_CONTROL_URL": f"http://localhost:{stack.base}", "XDG_STATE_HOME": str(stack.var / "state")}

    done = subprocess.run(
        [sys.executable, "-c", _EPISODE], env=os.environ | here, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "phone" in done.stdout


def test_the_token_file_is_its_owners_alone_and_goes_with_the_stack(tmp_path: Path) -> None:
    stack = Stack(tmp_path, {"DAYSHIFT_WITHOUT": "desk,ide,billing"}).start()
    file = tmp_path / "state" / "dayshift" / f"127.0.0.1-{stack.base}.token"
    modes = stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)
    stack.stop()

    assert modes == (0o600, 0o700)
    assert not file.exists()


def test_the_client_meets_compose_in_a_fresh_folder_without_any_variable(
    like_compose: Stack, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not list(elsewhere.iterdir())

    assert main(["--control-url", f"http://127.0.0.1:{like_compose.base}", "doctor"]) == 0
    assert "✓ control token: accepted, from the default of compose.yaml" in capsys.readouterr().out


def test_the_token_of_an_earlier_stack_is_no_hindrance(like_compose: Stack, elsewhere: Path) -> None:
    url = f"http://127.0.0.1:{like_compose.base}"
    (elsewhere / "var").mkdir()
    (elsewhere / "var" / "control.token").write_text("of-a-stack-that-has-ended")
    write_user_token(url, "of-another-that-was-killed")

    with Connection(Address.find(url)) as connection, dayshift.Episode.open(TASK, connection=connection) as episode:
        assert episode.brief


def test_a_stack_that_accepts_no_token_is_called_running_and_every_place_is_named(
    stack: Stack, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "var").mkdir()
    (elsewhere / "var" / "control.token").write_text("of-a-stack-that-has-ended")

    assert main(["--control-url", f"http://127.0.0.1:{stack.base}", "tasks"]) == 2
    said = capsys.readouterr().err
    assert f"the stack at http://127.0.0.1:{stack.base} runs, but does not accept the token from" in said
    assert "var/control.token, the default of compose.yaml" in said
    assert "set DAYSHIFT_CONTROL_TOKEN" in said
    assert TOKEN not in said


@pytest.mark.usefixtures("elsewhere")
def test_a_token_of_this_machine_is_sent_to_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    write_user_token("http://127.0.0.1:8700", "a-secret")

    assert main(["--control-url", "http://stack.example:8700", "tasks"]) == 2
    assert "there is no token for http://stack.example:8700: set DAYSHIFT_CONTROL_TOKEN" in capsys.readouterr().err
    assert user_token_file("http://localhost:8700") == user_token_file("http://127.0.0.1:8700/")


@pytest.mark.usefixtures("elsewhere")
def test_another_program_at_the_address_is_not_taken_for_a_stack(capsys: pytest.CaptureFixture[str]) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Greeter)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert main(["--control-url", f"http://127.0.0.1:{server.server_port}", "doctor"]) == 1
    finally:
        server.shutdown()
        server.server_close()
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert said[0] == (
        "✗ control: the answer is not a Health of control (the body: Invalid JSON: expected value at line 1 column 1): "
        "another program listens there, or a stack of another version"
    )
    assert said[1].lstrip().startswith("→ another program may listen at")


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("offset", [1, 5, 11])
def test_another_port_of_the_stack_is_not_taken_for_control(
    stack: Stack, offset: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--control-url", f"http://127.0.0.1:{stack.base + offset}", "doctor"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert "{" not in said[0], "neither bodies nor dumps of errors"
    assert said[1].lstrip().startswith(("→ another program may listen at", "→ start it"))


@pytest.mark.usefixtures("elsewhere")
def test_a_stack_that_is_asked_over_tls_is_not_called_stopped(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--control-url", f"https://127.0.0.1:{stack.base}", "tasks"]) == 2
    said = capsys.readouterr().err
    assert f"a stack speaks plain HTTP: write http://127.0.0.1:{stack.base}" in said
    assert "no stack listens there" not in said


class _Greeter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Hello</h1>")

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.mark.parametrize(
    ("url", "token", "sentence"),
    [
        ("127.0.0.1:8700", "a", "is not the address of a stack"),
        ("http://127.0.0.1:port", "a", "is not the address of a stack"),
        ("http://127.0.0.1:8700", "two\nlines", "a control token is printable ASCII"),
        ("http://127.0.0.1:8700", "schlüssel", "a control token is printable ASCII"),
    ],
)
def test_an_address_that_cannot_be_is_refused_before_anything_is_sent(url: str, token: str, sentence: str) -> None:
    with pytest.raises(dayshift.UsageError, match=sentence):
        Address(url, token)
