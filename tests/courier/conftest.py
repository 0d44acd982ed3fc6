"""A stack with the IDE alone."""

from collections.abc import Iterator

import pytest

from services.validate.in_process_stack import InProcessStack
from tests.ide.small_world import build_small_world


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessStack]:
    folder = tmp_path_factory.mktemp("service")
    build_small_world(folder)
    with InProcessStack(folder, ("ide",), "small") as opened:
        yield opened
