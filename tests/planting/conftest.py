"""The small company, for ids and replays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.validate.attempt import TrialContext
from services.validate.in_process_stack import InProcessStack
from tests.company import WORLD, small_company
from tests.planting.episodes import Setups


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_company(tmp_path_factory)


@pytest.fixture(scope="session")
def setups(company: Path) -> Iterator[Setups]:
    opened = Setups(company / "worlds")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def context(company: Path) -> Iterator[TrialContext]:
    with InProcessStack(company, ("crm", "billing", "desk"), WORLD) as stack:
        yield TrialContext(stack, WORLD, "train")
