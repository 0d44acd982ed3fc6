"""The secret salt of a stack: other tasks, the same ones again for whoever knows it, and no trace of the secret."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import dayshift
import pytest
from dayshift.cli import main
from dayshift.connection import Address, Connection
from dayshift.errors import SaltDiffers
from dayshift.recorder import SCORED
from dayshift.recordings import load
from dayshift.wire import OpenRequest

from services.kernel.config import BadSetting, Settings
from services.kernel.salt import Salt
from tests.client.policies import diligent
from tests.control.stack import TASK, TOKEN, Stack

SECRET = "a-salt-that-only-this-test-knows"


@pytest.fixture(scope="module")
def salted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(tmp_path_factory.mktemp("salted"), {"DAYSHIFT_SALT": SECRET}).start()
    yield started
    started.stop()


@pytest.fixture
def secretly(salted: Stack) -> Iterator[Connection]:
    with Connection(Address(f"http://127.0.0.1:{salted.base}", TOKEN)) as connected:
        yield connected


def record(folder: Path, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> dayshift.Trajectory:
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", f"http://127.0.0.1:{stack.base}")
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", TOKEN)

    async def play(recorder: dayshift.Recorder) -> None:
        tasks = list(dayshift.tasks(TASK, seeds=range(1)))
        async for _ in dayshift.rollouts(diligent, tasks, recorder=recorder, progress=False):
            pass

    with dayshift.Recorder(folder) as recorder:
        asyncio.run(play(recorder))
    return next(load(folder))


def test_a_recording_replays_where_the_salt_is_the_same_and_only_there(
    salted: Stack,
    secretly: Connection,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trajectory = record(tmp_path, salted, monkeypatch)

    assert trajectory.manifest.salt == Salt(SECRET).fingerprint
    assert trajectory.ending == "passed"
    assert dayshift.verify(trajectory, secretly).difference is None
    with pytest.raises(SaltDiffers, match=f"with the salt {Salt(SECRET).fingerprint} and this stack runs without"):
        dayshift.verify(trajectory, connection)
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", connection.address.url)
    assert main(["verify", str(tmp_path / SCORED)]) == 2
    assert "start the stack with the DAYSHIFT_SALT of the recording" in capsys.readouterr().err


def test_the_same_seed_is_another_task_and_says_which_salt(connection: Connection, secretly: Connection) -> None:
    plain, salted, again = (
        one.run(one.address.control.open(OpenRequest(task=TASK, seed=4))) for one in (connection, secretly, secretly)
    )

    assert (plain.salt, salted.salt) == (None, Salt(SECRET).fingerprint)
    assert plain.brief != salted.brief
    assert (salted.brief, salted.fingerprint) == (again.brief, again.fingerprint)


def test_a_verdict_carries_the_fingerprint_and_not_the_salt(secretly: Connection) -> None:
    with dayshift.Episode.open(TASK, seed=4, connection=secretly) as episode:
        verdict = episode.submit()

    assert verdict.salt == Salt(SECRET).fingerprint
    assert SECRET not in verdict.model_dump_json()


def test_products_do_not_know_the_salt_and_no_log_names_it(salted: Stack) -> None:
    pid = salted.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    told = [child for child in children if b"DAYSHIFT_SALT" in Path(f"/proc/{child}/environ").read_bytes()]

    assert [Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[-2] for child in told] == [b"control"]
    assert SECRET not in salted.output()
    assert SECRET not in repr(Settings(salt=Salt(SECRET)))


def test_a_short_salt_is_refused_without_being_repeated() -> None:
    with pytest.raises(BadSetting, match="at least 16 characters") as refused:
        Settings.from_environment({**os.environ, "DAYSHIFT_SALT": "too-short"})

    assert "too-short" not in str(refused.value)
