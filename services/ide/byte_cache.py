"""A cache that is bounded by the bytes it holds, not by the number of entries."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class ByteCache(Generic[Value]):
    """Keeps the most recently used values, by key, within a number of bytes."""

    def __init__(self, max_bytes: int, size_of: Callable[[Value], int]) -> None:
        self._max_bytes = max_bytes
        self._size_of = size_of
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._bytes = 0

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __getitem__(self, key: str) -> Value:
        self._values.move_to_end(key)
        return self._values[key]

    def __setitem__(self, key: str, value: Value) -> None:
        self._evict(key)
        self._values[key] = value
        self._bytes += self._size_of(value)
        # The newest value stays, however large: whoever stored it is about to read it.
        while self._bytes > self._max_bytes and len(self._values) > 1:
            self._evict(next(iter(self._values)))

    def _evict(self, key: str) -> None:
        if key in self._values:
            self._bytes -= self._size_of(self._values.pop(key))
