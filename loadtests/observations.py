"""Observations: what a client wrote and saw of one product's records, and whether a response contradicts it."""

from collections.abc import Mapping
from typing import Any

from loadtests.calls import ConsistencyViolation


class Observations:
    """Read-your-writes and monotonic reads, on revisions and on values."""

    def __init__(self, watched: tuple[str, ...]) -> None:
        self._watched = watched
        self._revision = 0
        self.known: dict[str, dict[str, str]] = {}

    def record_write(self, revision: int, changes: Mapping[str, Mapping[str, str]]) -> None:
        if revision <= self._revision:
            raise ConsistencyViolation(f"a write answered at revision {revision}, after {self._revision} was seen")
        self._revision = revision
        for record, values in changes.items():
            self.known.setdefault(record, {}).update(values)

    def record_revision(self, revision: int) -> None:
        if revision < self._revision:
            raise ConsistencyViolation(f"an answer at revision {revision}, after {self._revision} was seen")
        self._revision = revision

    def check_records(
        self, revision: int, records: Mapping[str, Mapping[str, Any]], expected_id: str | None = None
    ) -> None:
        """Require that values written or seen before are unchanged, and that the expected record is in the response."""
        self.record_revision(revision)
        for record, values in records.items():
            self._compare(record, values)
        if expected_id is not None and expected_id not in records:
            raise ConsistencyViolation(f"{expected_id} is missing from an answer that must show it")

    def _compare(self, record: str, records: Mapping[str, Any]) -> None:
        observed = self.known.setdefault(record, {})
        for name in self._watched:
            value = records.get(name)
            if name in observed and value != observed[name]:
                raise ConsistencyViolation(f"{record}: {name} is {value!r} but {observed[name]!r} was written or seen")
            if value is not None:
                observed[name] = value
