"""Ids of new rows: they depend on the episode's seed, and a replay gets the same ones again."""

import hashlib
from collections.abc import Mapping

# How far beyond the template's last number a counter starts: a seed decides where, so that no two seeds agree.
_SMALL_GAP, _LARGE_GAP = 400, 20_000
_SMALL_COUNTER = 1_000_000


class Ids:
    """Counters, one per kind of thing, and opaque ids that are made from their numbers.

    A counter starts beyond the template's last number, at a distance that `key` decides; an opaque id is a digest of
    `key`, kind and number. `key` stands for the episode's seed.
    """

    __slots__ = ("_last", "_last_in_template", "key")

    def __init__(self, last: Mapping[str, int], key: str) -> None:
        self._last_in_template = last
        # Only counters that moved.
        self._last: dict[str, int] = {}
        self.key = key

    def next(self, kind: str) -> int:
        number = self._last[kind] = self.peek(kind)
        return number

    def peek(self, kind: str) -> int:
        """The number that `next` will return."""
        last = self._last.get(kind)
        return (self._start(kind) if last is None else last) + 1

    def digest(self, kind: str, number: int) -> bytes:
        """Thirty-two bytes for an opaque id of one object."""
        return hashlib.sha256(f"{self.key}\x1f{kind}\x1f{number}".encode()).digest()

    def reserve(self, kind: str, used: int) -> None:
        """Never hand out `used` or anything below it: planted rows bring their own ids."""
        self._last[kind] = max(self._last.get(kind, self._last_in_template.get(kind, 0)), used)

    def since_template(self) -> dict[str, int]:
        """The counters that moved."""
        return dict(self._last)

    def counters(self) -> dict[str, int]:
        """Every counter that exists, and the number before its next one."""
        return {kind: self.peek(kind) - 1 for kind in {**self._last_in_template, **self._last}}

    def snapshot(self) -> dict[str, int]:
        return dict(self._last)

    def restore(self, snapshot: Mapping[str, int]) -> None:
        self._last.clear()
        self._last.update(snapshot)

    def _start(self, kind: str) -> int:
        last = self._last_in_template.get(kind, 0)
        width = _SMALL_GAP if last < _SMALL_COUNTER else _LARGE_GAP
        return last + int.from_bytes(self.digest(f"start of {kind}", last)[:4], "big") % width
