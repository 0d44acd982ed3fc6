"""A house of one process and a small company for tasks to be worked off in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.build import build
from services.validate.household import Household

WORLD = "small"


@pytest.fixture(scope="session")
def household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    var: Path = tmp_path_factory.mktemp("tasks")
    (var / "worlds").mkdir()
    build(WORLD, var / "worlds")
    with Household(var, ("crm",), WORLD) as opened:
        yield opened
