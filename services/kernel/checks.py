"""Check: a typed question about a world. Finding: its answer, with the reason."""

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
    # Suspicions that came up on the way: (tag, evidence) each.
    flags: tuple[tuple[str, str], ...] = ()
    # The ids of what it found, for checks elsewhere that ask whether somebody refers to it.
    names: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        return self.score == 1


class Check(BaseModel, ABC):
    """A claim about the world's rows; data only, so that it can cross to the product that owns them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def ask(self, world: World) -> Finding | Awaitable[Finding]:
        """Awaitable where the answer takes more than reading rows."""

    def held(self, because: str) -> Finding:
        return Finding(type(self).__name__, Fraction(1), because)

    def failed(self, because: str) -> Finding:
        return Finding(type(self).__name__, Fraction(0), because)

    def partly(self, score: Fraction, because: str) -> Finding:
        return Finding(type(self).__name__, score, because)


class UnknownCheck(ValueError):
    """A task asks a product something it cannot answer: the task must not load."""


def parse(known: Mapping[str, type[Check]], name: str, arguments: Mapping[str, Any]) -> Check:
    if name not in known:
        raise UnknownCheck(f"no check is called {name!r}; there are {', '.join(sorted(known))}")
    return known[name].model_validate(arguments)


def named(*checks: type[Check]) -> dict[str, type[Check]]:
    return {check.__name__: check for check in checks}
