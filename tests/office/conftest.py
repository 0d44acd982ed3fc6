"""A house with every product in one process, and a small company to work in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.validate.attempt import Place
from services.validate.household import Household
from tests.company import WORLD, small_company


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_company(tmp_path_factory)


@pytest.fixture(scope="session")
def place(company: Path) -> Iterator[Place]:
    with Household(company, ("billing", "crm", "desk", "ide"), WORLD) as household:
        yield Place(household, WORLD, "train")
