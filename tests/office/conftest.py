"""A stack with every product in one process, and a small company to work in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.validate.attempt import TrialContext
from services.validate.in_process_stack import InProcessStack
from tests.company import WORLD, small_company


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_company(tmp_path_factory)


@pytest.fixture(scope="session")
def context(company: Path) -> Iterator[TrialContext]:
    with InProcessStack(company, ("billing", "crm", "desk", "ide"), WORLD) as stack:
        yield TrialContext(stack, WORLD, "train")
