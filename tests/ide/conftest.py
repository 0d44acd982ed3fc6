"""Fixtures of the IDE's tests: one service for all, an episode for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ide.service import Episode, IdeService, run_service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdeService]:
    folder: Path = tmp_path_factory.mktemp("ide")
    with run_service(folder) as running:
        yield running


@pytest.fixture
def ide(service: IdeService) -> Iterator[IdeService]:
    yield service
    service.close_all()


@pytest.fixture
def episode(ide: IdeService) -> Episode:
    return ide.open()
