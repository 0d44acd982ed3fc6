"""
Refusals are ordinary answers of a product. Any other exception is our bug and becomes a 500.

Refusal                    400
├── MalformedRequest       400  the body or a parameter does not parse
├── Unauthenticated        401  no credential, a wrong one, or one that is over
├── NoSuchRoute            404
├── MethodNotAllowed       405
├── KeyReused              409  an Idempotency-Key came back with another request
├── BodyTooLarge           413
├── UnsupportedMediaType   415
├── RateLimited            429  carries Retry-After
└── Unavailable            503  carries Retry-After

Each product adds its own and renders all of them in the vendor's words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class Refusal(Exception):
    """The product declines; the request's writes are undone, unless the class says that they stand."""

    status: ClassVar[int] = 400
    # A declined payment is refused and yet leaves traces: the failed charge, the counted attempt.
    stands: ClassVar[bool] = False

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip())

    @property
    def message(self) -> str:
        return str(self)

    @property
    def headers(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a request, and where."""

    where: str
    message: str
    kind: str


class MalformedRequest(Refusal):
    """The request could not be read."""

    status = 400

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class Unauthenticated(Refusal):
    """The credential is missing, wrong or no longer valid."""

    status = 401


class NoSuchRoute(Refusal):
    """Nothing is served at this address."""

    status = 404


class MethodNotAllowed(Refusal):
    """This address does not take that method."""

    status = 405

    def __init__(self, allowed: str = "") -> None:
        super().__init__()
        self.allowed = allowed

    @property
    def headers(self) -> Mapping[str, str]:
        return {"allow": self.allowed} if self.allowed else {}


class KeyReused(Refusal):
    """This Idempotency-Key was used with another request."""

    status = 409


class BodyTooLarge(Refusal):
    """The request body is larger than this service reads."""

    status = 413


class UnsupportedMediaType(Refusal):
    """The request body is not JSON."""

    status = 415


class _TryLater(Refusal):
    """The same request may be answered after some seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after

    @property
    def headers(self) -> Mapping[str, str]:
        return {"retry-after": str(self.retry_after)}


class RateLimited(_TryLater):
    """Too many requests; try again after the time given."""

    status = 429


class Unavailable(_TryLater):
    """The service cannot answer now; try again after the time given."""

    status = 503


class Failure(Refusal):
    """What an agent is shown when the environment failed. Nobody raises it; the agent API renders it."""

    status = 500

    def __init__(self) -> None:
        super().__init__("Internal Server Error")


def problems_of(errors: Sequence[Mapping[str, Any]]) -> list[Problem]:
    """Pydantic's error list as problems; the offending input is left out, it may be huge or secret."""
    return [
        Problem(where=".".join(str(part) for part in error["loc"]), message=str(error["msg"]), kind=str(error["type"]))
        for error in errors
    ]
