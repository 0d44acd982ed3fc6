"""
The errors of the control API: each becomes an answer with a `Problem` in it.

ApiProblem                 400
├── Unauthorized           401
├── NotFound               404
├── Conflict               409
│   └── EpisodeIsOver      409
├── TooLarge               413
├── Unprocessable          422
├── AtCapacity             429  carries the numbers and Retry-After
├── Unexpected             500
└── Unavailable            503  carries Retry-After
    └── LedgerDown         503
"""

from typing import ClassVar

from dayshift.wire import Problem


class ApiProblem(Exception):
    """The request could not be read."""

    status: ClassVar[int] = 400
    error: ClassVar[str] = "bad_request"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip())

    def as_wire(self) -> Problem:
        return Problem(error=self.error, message=str(self))


class Unauthorized(ApiProblem):
    """The control token is missing or wrong: send `Authorization: Bearer <DAYSHIFT_CONTROL_TOKEN>`."""

    status = 401
    error = "unauthorized"


class NotFound(ApiProblem):
    """Nothing has that name."""

    status = 404
    error = "not_found"


class Conflict(ApiProblem):
    """The present state does not allow that."""

    status = 409
    error = "conflict"


class EpisodeIsOver(Conflict):
    """The episode has ended; open another."""

    error = "over"


class TooLarge(ApiProblem):
    """The request body is over the limit of 1 MiB."""

    status = 413
    error = "too_large"


class Unprocessable(ApiProblem):
    """The request is well formed, but its values make no sense."""

    status = 422
    error = "invalid"


class AtCapacity(ApiProblem):
    """This installation holds no more open episodes."""

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

    def as_wire(self) -> Problem:
        return self._problem


class Unexpected(ApiProblem):
    """Control failed; the cause is in its log."""

    status = 500
    error = "failure"


class Unavailable(ApiProblem):
    """A part that the request needs does not answer."""

    status = 503
    error = "unavailable"
    retry_after: ClassVar[int] = 2

    def as_wire(self) -> Problem:
        return Problem(error=self.error, message=str(self), retry_after=self.retry_after)


class LedgerDown(Unavailable):
    """The ledger cannot be written; no episode is opened or scored without a record."""

    error = "ledger_down"
