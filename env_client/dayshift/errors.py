"""What can go wrong, and whose doing it is.

DayshiftError
├── Misuse                 the caller asked for what does not exist; nothing happened
│   ├── UnknownOperation     no product offers an operation of that name
│   ├── BadArguments         the arguments cannot be written as that operation's request
│   ├── EpisodeOver          the episode has its verdict, was closed, or has no steps left
│   ├── NoMenu               the task offers no candidate calls
│   ├── ControlRefused       control declined: no such task or world, a wrong token, a bad option
│   └── MissingExtra         an optional library is not installed
├── Refusal                the product declined: an ordinary answer, raised only by `raise_for_refusal`
└── HarnessFault           the house broke: the episode is unscored, never rewarded
    ├── Unreachable          nobody answered, or the connection was cut
    ├── StepTimeout          no answer in time
    ├── StaleRead            an answer older than one already seen
    ├── EpisodeLost          a product no longer knows the episode
    ├── ServiceBroke         a 5xx that no fault plan explains
    ├── WireMismatch         an answer that the wire does not allow
    ├── NotNow               control asks to come back later: a product is busy or being started
    │   └── AtCapacity         too many episodes are open
    └── Unscored             control itself says that this episode has no reward
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dayshift.wire import Problem, Verdict


class DayshiftError(Exception):
    """Anything that this package raises."""


class Misuse(DayshiftError, ValueError):
    """The caller asked for what does not exist; nothing happened."""


class UnknownOperation(Misuse):
    """No product offers an operation of that name."""


class BadArguments(Misuse):
    """The arguments cannot be written as that operation's request."""


class EpisodeOver(Misuse):
    """The episode has its verdict, or was closed; open another."""


class NoMenu(Misuse):
    """The task offers no candidate calls."""


class ControlRefused(Misuse):
    """Control declined: no such task or world, a wrong token, a bad option."""

    def __init__(self, status: int, problem: "Problem") -> None:
        super().__init__(f"control answered {status} {problem.error}: {problem.message}")
        self.status = status
        self.problem = problem


class MissingExtra(Misuse, ImportError):
    """An optional library is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"this needs {library}: pip install 'dayshift[{extra}]'")


class Refusal(DayshiftError):
    """The product declined: an ordinary answer."""

    def __init__(self, operation: str, status: int, body: str) -> None:
        super().__init__(f"{operation} answered {status}: {body[:500]}")
        self.operation = operation
        self.status = status
        self.body = body


class HarnessFault(DayshiftError):
    """The house broke: the episode is unscored, never rewarded."""

    @property
    def kind(self) -> str:
        return type(self).__name__


class Unreachable(HarnessFault):
    """Nobody answered, or the connection was cut."""


class StepTimeout(HarnessFault):
    """No answer in time; whether the call took effect is unknown."""


class StaleRead(HarnessFault):
    """An answer older than one already seen."""

    def __init__(self, product: str, seen: int, answered: int) -> None:
        super().__init__(f"{product} answered at revision {answered} after revision {seen} had been seen")
        self.product = product
        self.seen = seen
        self.answered = answered


class EpisodeLost(HarnessFault):
    """A product no longer knows the episode: it was restarted, or the lease ran out."""


class ServiceBroke(HarnessFault):
    """A 5xx that no fault plan explains."""

    def __init__(self, operation: str, status: int, body: str) -> None:
        super().__init__(f"{operation} answered {status}: {body[:500]}")
        self.status = status


class WireMismatch(HarnessFault):
    """An answer that the wire does not allow: client and stack may be of different versions."""


class NotNow(HarnessFault):
    """Control asks to come back after `problem.retry_after` seconds: a product is busy or being started."""

    def __init__(self, problem: "Problem") -> None:
        super().__init__(problem.message)
        self.problem = problem


class AtCapacity(NotNow):
    """Too many episodes are open."""


class Unscored(HarnessFault):
    """Control itself says that this episode has no reward."""

    def __init__(self, verdict: "Verdict") -> None:
        super().__init__(f"the episode is unscored: {verdict.because or 'no cause was given'}")
        self.verdict = verdict
