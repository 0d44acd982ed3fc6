"""Calls and responses: one request of an episode script, and its result."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

REVISION_HEADER = "x-data-revision"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and which statuses are right."""

    name: str
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None
    expected: frozenset[int] = frozenset({200})
    episode: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """What came back; status 0 stands for no answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    problem: str = ""

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def revision(self) -> int:
        return int(self.headers.get(REVISION_HEADER, -1))


# Yields the calls of an episode and is sent their responses.
EpisodeScript = Generator[Call, Response, None]
# Makes a script from its number, which is its seed.
ScriptMaker = Callable[[int], EpisodeScript]


class ConsistencyViolation(AssertionError):
    """A response that contradicts what this client has written or seen: a stale or a foreign read."""


class UnexpectedResponse(Exception):
    """A response with a status that was not expected; it ends the script."""

    def __init__(self, call: Call, response: Response) -> None:
        message = response.body[:200].decode(errors="replace") or response.problem
        super().__init__(f"{call.name} answered {response.status}: {message}")


def expect_success(call: Call) -> Generator[Call, Response, Response]:
    response = yield call
    if response.status not in call.expected:
        raise UnexpectedResponse(call, response)
    return response
