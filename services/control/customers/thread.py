"""Thread: a request as its requester sees it, and nothing more than that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from services.kernel.clock import milliseconds

GONE = "deleted"


@dataclass(frozen=True, slots=True)
class Message:
    """One public comment."""

    id: int
    author: int
    at_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Thread:
    """What the end user's own view shows of a ticket."""

    status: str
    changed_ms: int
    messages: tuple[Message, ...]

    def of_others(self, user: int) -> tuple[Message, ...]:
        return tuple(one for one in self.messages if one.author != user)

    def own(self, user: int) -> tuple[Message, ...]:
        return tuple(one for one in self.messages if one.author == user)

    @property
    def last_ms(self) -> int:
        return max((one.at_ms for one in self.messages), default=self.changed_ms)


def read_thread(request: Mapping[str, Any] | None, comments: Sequence[Mapping[str, Any]]) -> Thread:
    """A request that is no longer shown to them is gone."""
    if request is None:
        return Thread(GONE, 0, ())
    return Thread(request["status"], moment_ms(request["updated_at"]), messages_of(comments))


def messages_of(comments: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    found = (
        Message(
            int(one["id"]), int(one["author_id"]), moment_ms(one["created_at"]), one.get("plain_body") or one["body"]
        )
        for one in comments
    )
    return tuple(sorted(found, key=lambda one: (one.at_ms, one.id)))


def moment_ms(told: str) -> int:
    return milliseconds(datetime.fromisoformat(told))
