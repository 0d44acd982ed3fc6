"""What kernel tests stand on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.kernel.app import create_app
from services.kernel.episodes import Episodes, Worlds
from services.kernel.forks import Fork, Forks
from services.kernel.telemetry import Telemetry
from services.kernel.template import Template
from services.kernel.world import World
from tests.kernel.pantry import FakeTime, Pantry, build_pantry, product, schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return build_pantry(tmp_path)


@pytest.fixture
def template(path: Path) -> Iterator[Template]:
    opened = Template(path, schema)
    yield opened
    opened.close()


@pytest.fixture
def forks(template: Template) -> Iterator[Forks]:
    pool = Forks(template)
    yield pool
    pool.close()


@pytest.fixture
def fork(forks: Forks) -> Fork:
    return forks.take()


@pytest.fixture
def world(fork: Fork) -> World:
    return World(fork, seed=7)


@pytest.fixture
def pantry(path: Path) -> Iterator[Pantry]:
    wall = FakeTime()
    worlds = Worlds(product, path.parent)
    telemetry = Telemetry("pantry")
    episodes = Episodes(product, worlds, lease_seconds=60, now=wall)
    yield Pantry(episodes, create_app(product, episodes, telemetry), wall, telemetry)
    worlds.close()
