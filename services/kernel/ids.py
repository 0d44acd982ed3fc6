"""Ids that a replay meets again."""

from collections.abc import Mapping


class Ids:
    """Counters, one per kind of thing; they start where the template's rows end."""

    __slots__ = ("_first", "_last")

    def __init__(self, last: Mapping[str, int]) -> None:
        self._first = last
        self._last = dict(last)

    def next(self, kind: str) -> int:
        self._last[kind] = self._last.get(kind, 0) + 1
        return self._last[kind]

    def reserve(self, kind: str, used: int) -> None:
        """Never hand out `used` or anything below it: planted rows bring their own ids."""
        self._last[kind] = max(self._last.get(kind, 0), used)

    def since_template(self) -> dict[str, int]:
        """The counters that moved."""
        return {kind: used for kind, used in self._last.items() if used != self._first.get(kind, 0)}

    def snapshot(self) -> dict[str, int]:
        return dict(self._last)

    def restore(self, snapshot: Mapping[str, int]) -> None:
        self._last = dict(snapshot)
