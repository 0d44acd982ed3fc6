"""The small company, built once per test session wherever it is asked for."""

from pathlib import Path

import pytest

from fixtures.build import build

WORLD = "small"


def small_company(factory: pytest.TempPathFactory) -> Path:
    """A `var` folder with its worlds; whoever comes second finds them there."""
    return build_company(factory, WORLD)


def build_company(factory: pytest.TempPathFactory, world: str) -> Path:
    """A `var` folder with the worlds of any size; whoever comes second finds them there."""
    var = factory.getbasetemp() / f"{world}-company"
    (var / "worlds").mkdir(parents=True, exist_ok=True)
    build(world, var / "worlds")
    return var
