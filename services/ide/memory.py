"""Memory of what was worked out before, bounded by what it holds and not by how many."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """By key, the most recently used; what was longest in nobody's use is forgotten when it gets too much."""

    def __init__(self, most_bytes: int, size: Callable[[Value], int]) -> None:
        self._most = most_bytes
        self._size = size
        self._held: OrderedDict[str, Value] = OrderedDict()
        self._bytes = 0

    def __contains__(self, key: str) -> bool:
        return key in self._held

    def __getitem__(self, key: str) -> Value:
        self._held.move_to_end(key)
        return self._held[key]

    def __setitem__(self, key: str, value: Value) -> None:
        self._forget(key)
        self._held[key] = value
        self._bytes += self._size(value)
        # What was just learnt stays, however large: whoever put it here is about to take it.
        while self._bytes > self._most and len(self._held) > 1:
            self._forget(next(iter(self._held)))

    def _forget(self, key: str) -> None:
        if key in self._held:
            self._bytes -= self._size(self._held.pop(key))
