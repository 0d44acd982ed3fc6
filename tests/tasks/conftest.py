"""A stack in one process with the small world, for trying tasks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.build import build
from services.validate.in_process_stack import InProcessStack

WORLD = "small"


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessStack]:
    var: Path = tmp_path_factory.mktemp("tasks")
    (var / "worlds").mkdir()
    build(WORLD, var / "worlds")
    with InProcessStack(var, ("crm",), WORLD) as opened:
        yield opened
