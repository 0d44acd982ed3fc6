"""What is special to the families of billing: tempting ways that must not pass, at many seeds."""

from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.tasks.family import Family
from fixtures.tasks.registry import families, family
from services.validate.attempt import Stuck, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack
from tests.company import WORLD, small_company

FAMILIES = sorted(name for name in families() if name.startswith("billing/"))
SEEDS = range(4)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessStack]:
    var = small_company(tmp_path_factory)
    with InProcessStack(var, ("billing",), WORLD) as opened:
        yield opened


def outcome_of(stack: InProcessStack, found: Family[Any], seed: int, kind: str, name: str) -> str:
    with attempt(TrialContext(stack, WORLD, "train"), found, seed) as attempted:
        way = getattr(found, kind)(attempted.trouble)[name]
        try:
            answer = attempted.follow(way)
        except Stuck:
            answer = None
        return attempted.submit(answer).outcome


def ways_of(stack: InProcessStack, found: Family[Any], seed: int, kind: str) -> list[str]:
    request = TrialContext(stack, WORLD, "train").request(found, seed)
    return list(getattr(found, kind)(stack.control.task_builder.draw(found, request)[1]))


def test_billing_has_families_of_its_own() -> None:
    assert len([name for name in FAMILIES if family(name).products == ("billing",)]) >= 4


@pytest.mark.parametrize("family_id", FAMILIES)
def test_tempting_mistakes_do_not_pass(stack: InProcessStack, family_id: str) -> None:
    found = family(family_id)
    for seed in SEEDS:
        mistakes = ways_of(stack, found, seed, "mistakes")
        outcomes = {name: outcome_of(stack, found, seed, "mistakes", name) for name in mistakes}

        assert len(mistakes) >= 3
        assert set(outcomes.values()) == {"failed"}, outcomes


@pytest.mark.parametrize("family_id", FAMILIES)
def test_every_other_right_way_passes(stack: InProcessStack, family_id: str) -> None:
    found = family(family_id)
    for seed in SEEDS:
        others = ways_of(stack, found, seed, "alternatives")
        outcomes = {name: outcome_of(stack, found, seed, "alternatives", name) for name in others}

        assert len(others) >= 3
        assert set(outcomes.values()) == {"passed"}, outcomes
