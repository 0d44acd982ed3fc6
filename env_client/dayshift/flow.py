"""Flows: the protocol without the sockets, so that one text serves both sync and async callers.

A flow yields what must be sent and is given what came back; a connection drives it.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request, ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes = b""
    # None: as long as the connection usually waits.
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Incoming:
    """A whole answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


Flow = Generator[Outgoing, Incoming, T]
