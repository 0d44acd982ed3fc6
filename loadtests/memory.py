"""What a client wrote and saw of one product's records, and whether an answer contradicts it."""

from collections.abc import Mapping
from typing import Any

from loadtests.asking import WrongAnswer


class Memory:
    """Read-your-writes and monotonic reads, on revisions and on values."""

    def __init__(self, watched: tuple[str, ...]) -> None:
        self._watched = watched
        self._revision = 0
        self.known: dict[str, dict[str, str]] = {}

    def wrote(self, revision: int, changes: Mapping[str, Mapping[str, str]]) -> None:
        if revision <= self._revision:
            raise WrongAnswer(f"a write answered at revision {revision}, after {self._revision} was seen")
        self._revision = revision
        for record, values in changes.items():
            self.known.setdefault(record, {}).update(values)

    def saw(self, revision: int) -> None:
        if revision < self._revision:
            raise WrongAnswer(f"an answer at revision {revision}, after {self._revision} was seen")
        self._revision = revision

    def look_at(self, revision: int, shown: Mapping[str, Mapping[str, Any]], awaited: str | None = None) -> None:
        """Whatever was written or seen before is there, unchanged; and the awaited record is among what is shown."""
        self.saw(revision)
        for record, values in shown.items():
            self._compare(record, values)
        if awaited is not None and awaited not in shown:
            raise WrongAnswer(f"{awaited} is missing from an answer that must show it")

    def _compare(self, record: str, shown: Mapping[str, Any]) -> None:
        known = self.known.setdefault(record, {})
        for name in self._watched:
            value = shown.get(name)
            if name in known and value != known[name]:
                raise WrongAnswer(f"{record}: {name} is {value!r} but {known[name]!r} was written or seen")
            if value is not None:
                known[name] = value
