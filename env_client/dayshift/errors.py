"""The exceptions of this package, and who is to blame for each.

DayshiftError
├── UsageError             the caller asked for something that does not exist; nothing happened
│   ├── UnknownOperation     no product offers an operation of that name
│   ├── BadArguments         the arguments cannot be encoded as that operation's request
│   ├── EpisodeOver          the episode has its verdict, is closed, or has no steps left
│   ├── NoMenu               the task offers no candidate calls
│   ├── SaltDiffers          a recording was made with another secret salt than the stack has
│   ├── WorldDiffers         a row was exported from other worlds than the stack serves
│   ├── ControlRefused       control declined: no such task or world, a bad option
│   │   └── TokenRefused       control accepts none of the tokens that were found
│   └── MissingExtra         an optional library is not installed
├── Refusal                the product declined: an ordinary answer, raised only by `raise_for_refusal`
└── HarnessFault           the environment failed: the episode is unscored and has no reward
    ├── Unreachable          there is no server, or the connection was cut
    ├── StepTimeout          no answer came in time
    ├── StaleRead            an answer is older than an earlier one
    ├── EpisodeLost          a product no longer knows the episode
    ├── ServiceError         a 5xx that no fault plan explains
    ├── WireMismatch         an answer that the wire does not allow
    ├── RetryLater           control asks to come back later: a product is busy or starting
    │   └── AtCapacity         too many episodes are open
    └── Unscored             control itself reports that the episode has no reward
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dayshift.wire import Problem, Verdict


class DayshiftError(Exception):
    """The base of all exceptions of this package."""

    def __reduce__(self) -> tuple[object, ...]:
        """Trainers raise them in worker processes; they are rebuilt from their text, without `__init__`."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[DayshiftError], words: tuple[object, ...], state: dict[str, object]) -> DayshiftError:
    error = kind.__new__(kind, *words)
    error.__dict__.update(state)
    return error


class UsageError(DayshiftError, ValueError):
    """The caller asked for something that does not exist; nothing happened."""


class UnknownOperation(UsageError):
    """No product offers an operation of that name."""


class BadArguments(UsageError):
    """The arguments cannot be encoded as that operation's request."""


class EpisodeOver(UsageError):
    """The episode has its verdict, is closed, or has no steps left; open another."""


class NoMenu(UsageError):
    """The task offers no candidate calls."""


class SaltDiffers(UsageError):
    """A recording was made with another secret salt than the stack has, so its episodes cannot be opened again."""

    def __init__(self, recorded: str | None, present: str | None) -> None:
        super().__init__(
            f"the recording was made {_name_salt(recorded)} and this stack runs {_name_salt(present)}; "
            "start the stack with the DAYSHIFT_SALT of the recording"
        )


class WorldDiffers(UsageError):
    """A row was exported from other worlds than the stack serves, so its grader would judge another task."""

    def __init__(self, recorded: str, present: str) -> None:
        super().__init__(
            f"the row was exported from the worlds {recorded[:12]}… and this stack serves {present[:12]}…; "
            "use the stack's version and worlds of the recording"
        )


def _name_salt(fingerprint: str | None) -> str:
    return "without a salt" if fingerprint is None else f"with the salt {fingerprint}"


class ControlRefused(UsageError):
    """Control declined: no such task or world, a bad option."""

    def __init__(self, status: int, problem: "Problem", text: str | None = None) -> None:
        super().__init__(text or f"control answered {status} {problem.error}: {problem.message}")
        self.status = status
        self.problem = problem


class TokenRefused(ControlRefused):
    """Control accepts none of the tokens that were found."""

    def __init__(self, url: str, sources: Sequence[str], problem: "Problem") -> None:
        text = (
            f"the stack at {url} runs, but does not accept the token from {', '.join(sources)}: "
            "set DAYSHIFT_CONTROL_TOKEN to the token with which it was started"
        )
        super().__init__(401, problem, text)


class MissingExtra(UsageError, ImportError):
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
    """The environment failed: the episode is unscored and has no reward."""

    @property
    def kind(self) -> str:
        return type(self).__name__


class Unreachable(HarnessFault):
    """There is no server, or the connection was cut."""


class StepTimeout(HarnessFault):
    """No answer came in time; whether the call took effect is unknown."""


class StaleRead(HarnessFault):
    """An answer is older than an earlier one."""

    def __init__(self, product: str, seen: int, answered: int) -> None:
        super().__init__(f"{product} answered at revision {answered} after revision {seen} had been seen")
        self.product = product
        self.seen = seen
        self.answered = answered


class EpisodeLost(HarnessFault):
    """A product no longer knows the episode: it was restarted, or the lease ran out."""


class ServiceError(HarnessFault):
    """A 5xx that no fault plan explains."""

    def __init__(self, operation: str, status: int, body: str) -> None:
        super().__init__(f"{operation} answered {status}: {body[:500]}")
        self.status = status


class WireMismatch(HarnessFault):
    """An answer that the wire does not allow: client and stack may have different versions."""


class RetryLater(HarnessFault):
    """Control asks to come back after `problem.retry_after` seconds: a product is busy or starting."""

    def __init__(self, problem: "Problem") -> None:
        super().__init__(problem.message)
        self.problem = problem


class AtCapacity(RetryLater):
    """Too many episodes are open."""


class Unscored(HarnessFault):
    """Control itself reports that the episode has no reward."""

    def __init__(self, verdict: "Verdict") -> None:
        super().__init__(f"the episode is unscored: {verdict.because or 'no cause was given'}")
        self.verdict = verdict
