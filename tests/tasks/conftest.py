"""A stack in one process with the small world, for trying tasks."""

from collections.abc import Iterator

import pytest

from services.validate.in_process_stack import InProcessStack
from tests.company import WORLD, small_company


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessStack]:
    with InProcessStack(small_company(tmp_path_factory), ("crm",), WORLD) as opened:
        yield opened
