"""Ask and Answer: one request of a life, and what came of it."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

REVISION_HEADER = "x-data-revision"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, and which answers are right."""

    name: str
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None
    expected: frozenset[int] = frozenset({200})
    episode: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
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


Life = Generator[Ask, Answer, None]
# Makes a life: the user's number and how many it has lived before make its seed.
Birth = Callable[[int], Life]


class WrongAnswer(AssertionError):
    """An answer that contradicts what this client has written or seen: a stale or a foreign read."""


class Failed(Exception):
    """An answer that was not among the expected ones; the life ends with it."""

    def __init__(self, ask: Ask, answer: Answer) -> None:
        said = answer.body[:200].decode(errors="replace") or answer.problem
        super().__init__(f"{ask.name} answered {answer.status}: {said}")


def expected(ask: Ask) -> Generator[Ask, Answer, Answer]:
    answer = yield ask
    if answer.status not in ask.expected:
        raise Failed(ask, answer)
    return answer
