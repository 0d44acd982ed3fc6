"""What control's tests stand on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import live_servers
from tests.control.stack import Stack

EMBEDDED, SHARED = "embedded", "postgres and redis"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with live_servers.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with live_servers.redis() as url:
        yield url


@pytest.fixture(scope="module", params=[EMBEDDED, SHARED])
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole stack, with SQLite and the registry in process, and again with PostgreSQL and Redis."""
    settings = {}
    if request.param == SHARED:
        settings = {
            "DAYSHIFT_LEDGER_URL": request.getfixturevalue("postgres_url"),
            "DAYSHIFT_REDIS_URL": request.getfixturevalue("redis_url"),
        }
    running = Stack(tmp_path_factory.mktemp("stack"), settings).start()
    yield running
    running.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Stack]]:
    """A stack of this test alone."""
    with ExitStack() as stopped:

        def started(*arguments: str, **settings: str) -> Stack:
            running = Stack(tmp_path, settings, arguments).start()
            stopped.callback(running.stop)
            return running

        yield started
