"""What the IDE's tests stand on: one service for all, an episode for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ide.stand import Opened, Stand, stand


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder: Path = tmp_path_factory.mktemp("ide")
    with stand(folder) as running:
        yield running


@pytest.fixture
def ide(service: Stand) -> Iterator[Stand]:
    yield service
    service.close_all()


@pytest.fixture
def episode(ide: Stand) -> Opened:
    return ide.open()
