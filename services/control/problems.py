"""
What control answers when it does not do what was asked.

Declined                   400
├── Unauthorized           401
├── NotFound               404
├── Conflict               409
├── TooLarge               413
├── Unprocessable          422
├── Full                   429  carries the numbers and Retry-After
├── Unexpected             500
└── NotNow                 503  carries Retry-After
    └── LedgerDown         503
"""

from typing import ClassVar

from dayshift.wire import Problem


class Declined(Exception):
    """The request could not be read."""

    status: ClassVar[int] = 400
    error: ClassVar[str] = "bad_request"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip())

    def problem(self) -> Problem:
        return Problem(error=self.error, message=str(self))


class Unauthorized(Declined):
    """The control token is missing or wrong: send `Authorization: Bearer <DAYSHIFT_CONTROL_TOKEN>`."""

    status = 401
    error = "unauthorized"


class NotFound(Declined):
    """There is nothing of that name."""

    status = 404
    error = "not_found"


class Conflict(Declined):
    """That cannot be done in the state things are in."""

    status = 409
    error = "conflict"


class TooLarge(Declined):
    """The request body is over the limit of 1 MiB."""

    status = 413
    error = "too_large"


class Unprocessable(Declined):
    """The request was read, but cannot be meant."""

    status = 422
    error = "invalid"


class Full(Declined):
    """As many episodes are open as this installation holds."""

    status = 429
    error = "full"

    def __init__(self, open_episodes: int, max_episodes: int, retry_after: int = 5) -> None:
        super().__init__(
            f"{open_episodes} of {max_episodes} episodes are open; close some, or raise DAYSHIFT_MAX_EPISODES"
        )
        self._problem = Problem(
            error=self.error,
            message=str(self),
            retry_after=retry_after,
            open_episodes=open_episodes,
            max_episodes=max_episodes,
        )

    def problem(self) -> Problem:
        return self._problem


class Unexpected(Declined):
    """Control failed at this; the cause is in its log."""

    status = 500
    error = "failure"


class NotNow(Declined):
    """Something that is needed for this does not answer."""

    status = 503
    error = "unavailable"
    retry_after: ClassVar[int] = 2

    def problem(self) -> Problem:
        return Problem(error=self.error, message=str(self), retry_after=self.retry_after)


class LedgerDown(NotNow):
    """The ledger cannot be written; nothing is opened or judged without a record."""

    error = "ledger_down"
