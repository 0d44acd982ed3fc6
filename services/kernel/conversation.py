"""Conversation: how customers and colleagues of an episode read and write in a product.

A product that people other than the agent use declares one in its `Judging`; control plays them through it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

from services.kernel.statements import Row

ThreadState = Literal["open", "solved", "closed", "gone"]
Rating = Literal["good", "bad"]


class ActorCall(TypedDict):
    """One request that a person makes, without their name."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    body: dict[str, Any] | None


class ActorAnswer(TypedDict):
    """The product's answer to such a request."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a thread."""

    id: int
    author: int
    at_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as its customer sees it: internal notes are not in it."""

    state: ThreadState
    changed_ms: int
    messages: tuple[Message, ...]

    def of_others(self, user: int) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.author != user)

    @property
    def last_ms(self) -> int:
        return max((message.at_ms for message in self.messages), default=self.changed_ms)


# The product no longer shows the thread to its customer, or never did.
GONE = Thread("gone", 0, ())


@dataclass(frozen=True, slots=True)
class Reply:
    """A message that customers can read, and the thread in which it stands."""

    thread: int
    text: str


class Conversation(ABC):
    """The requests by which people take part in threads, and how the product's answers are read.

    A method that builds requests has a method beside it that parses their answers. Where the product refused
    a request, the parser returns None, or the thread `GONE`.
    """

    # What the product's users call a thread; flags of a verdict use it.
    noun: ClassVar[str] = "thread"

    @abstractmethod
    def read_thread(self, thread: int) -> Sequence[ActorCall]: ...

    @abstractmethod
    def parse_thread(self, answers: Sequence[ActorAnswer]) -> Thread: ...

    @abstractmethod
    def start_thread(self, subject: str, text: str) -> ActorCall: ...

    @abstractmethod
    def follow_up(self, thread: int, text: str) -> ActorCall:
        """Starts a thread that refers to a closed one."""

    @abstractmethod
    def parse_started(self, answer: ActorAnswer) -> int | None:
        """The id of the thread that `start_thread` or `follow_up` has made."""

    @abstractmethod
    def reply(self, thread: int, text: str) -> ActorCall:
        """Writes as the customer; a reply to a solved thread opens it again."""

    @abstractmethod
    def rate(self, thread: int, rating: Rating, comment: str) -> ActorCall: ...

    @abstractmethod
    def read_notes(self, thread: int) -> ActorCall: ...

    @abstractmethod
    def parse_notes(self, answer: ActorAnswer) -> Sequence[Message]:
        """The internal notes, which customers cannot read."""

    @abstractmethod
    def write_note(self, thread: int, text: str) -> ActorCall: ...

    @abstractmethod
    def parse_written(self, answer: ActorAnswer) -> int | None:
        """When the note was written, in milliseconds."""

    @abstractmethod
    def parse_reply(self, table: str, row: Row) -> Reply | None:
        """The message for customers that a new row holds; None where it holds none."""
