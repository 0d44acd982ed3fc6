"""HttpFlow: the client's protocol without sockets, so that blocking and async callers share one implementation.

A flow is a generator that yields each request and receives its response, like httpx's `auth_flow`.
A `Connection` or an `AsyncConnection` drives it.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

# Longer than the longest call may take: a command in a workspace has two minutes, and the check runs of a commit
# unpack it before they run.
ANSWER_SECONDS = 300.0
# The same for a verdict: the suites of a task may run several times, on a machine that is busy.
JUDGING_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that is ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes = b""
    # In seconds; None takes the connection's own timeout.
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


HttpFlow = Generator[HttpRequest, HttpResponse, T]
