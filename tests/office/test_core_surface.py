"""Every family can be solved with the tools of the core surface: what is no tool is found by words and called."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest
from dayshift.lookup import CALL, FIND
from dayshift.step import Step
from dayshift.tool_surface import Surface

from fixtures.tasks.family import Call
from fixtures.tasks.known_solutions import load_known_solutions
from fixtures.tasks.registry import families
from services.validate.attempt import Attempt, TrialContext, attempt
from tests.scripted_provider.tool_rules import find_refused_tools

SEED = 11


@dataclass
class ThroughTools(Attempt):
    """An attempt that makes each call as a model does: by the name of a tool, or found and called by its name."""

    def try_(self, call: Call) -> Step:
        surface = self.episode.surface
        tool, arguments = surface.wrap(call.operation, dict(call.arguments))
        if tool == CALL:
            self._find(surface, str(arguments["operation"]))
        while True:
            step = self.episode.act({"name": tool, "arguments": arguments})
            if step.status not in {429, 503}:
                return step

    def _find(self, surface: Surface, operation: str) -> None:
        words = re.sub(r"[._]", " ", operation)
        found = surface.call_blocking(self.episode, FIND, {"words": words})
        assert operation in [line.partition("(")[0] for line in found.splitlines()], (operation, found)
        assert '"type": "object"' in surface.call_blocking(self.episode, FIND, {"words": operation})


@pytest.mark.parametrize("name", sorted(families()))
def test_a_family_is_solved_on_the_core_surface(context: TrialContext, name: str) -> None:
    family: Any = families()[name]
    own = replace(context, split=family.splits[0])
    with attempt(own, family, SEED) as made:
        through = ThroughTools(**vars(made))
        answer = through.follow(through.oracle)
        # What a suite of tests says of such work is shown in tests/upstream and tests/service.
        verdict = None if family.runs_a_suite else through.submit(answer)
        surface = made.episode.trajectory().manifest.surface
        refused = find_refused_tools(made.episode.surface.openai_tools())

    assert refused == [], "with the answer that this family asks for"
    assert verdict is None or verdict.outcome == "passed", verdict.because
    assert surface is not None
    assert surface.name == "core"


@pytest.mark.parametrize("name", sorted(families()))
def test_the_recorded_operations_of_a_family_cover_its_oracle(context: TrialContext, name: str) -> None:
    """After a change of an oracle: `python -m services.validate.known_solutions` writes the file anew."""
    family: Any = families()[name]
    own = replace(context, split=family.splits[0])
    with attempt(own, family, SEED) as made:
        made.follow(made.oracle)
        used = {step.call.operation for step in made.episode.steps if step.product}

    assert used <= set(load_known_solutions()[name])
