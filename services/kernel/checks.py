"""Check: a typed claim about a world. Finding: how far the claim holds, and why."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ConfigDict

from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: how much of the claim holds, and why."""

    check: str
    score: Fraction
    because: str
    # Flags for a suspicious trajectory: (tag, evidence) each.
    flags: tuple[tuple[str, str], ...] = ()
    # The ids of what it found, for checks of other products that look for references to it.
    names: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        return self.score == 1


class Check(BaseModel, ABC):
    """A claim about the world's rows; data only, so that it can be sent to the product that owns them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def run(self, world: World) -> Finding | Awaitable[Finding]:
        """Awaitable where the check does more than read rows."""

    def holds(self, because: str) -> Finding:
        return self.holds_partly(Fraction(1), because)

    def fails(self, because: str) -> Finding:
        return self.holds_partly(Fraction(0), because)

    def holds_partly(self, score: Fraction, because: str) -> Finding:
        return Finding(type(self).__name__, score, because)


class UnknownCheck(ValueError):
    """A task uses a check that the product does not have: the task must not load."""


def parse(available: Mapping[str, type[Check]], name: str, arguments: Mapping[str, Any]) -> Check:
    if name not in available:
        raise UnknownCheck(f"no check is called {name!r}; there are {', '.join(sorted(available))}")
    return available[name].model_validate(arguments)


def checks_by_name(*checks: type[Check]) -> dict[str, type[Check]]:
    return {check.__name__: check for check in checks}
