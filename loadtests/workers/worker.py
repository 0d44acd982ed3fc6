"""Worker: the base class of ordinary work at one product."""

import random  # noqa: TID251 - a load generator, not a world; seeded
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar

import orjson
from dayshift.wire import ProductAccess

from loadtests.calls import Call, Response
from loadtests.observations import Observations

Exchanges = Generator[Call, Response, None]
Activity = Callable[[], Exchanges]
# What the caller shows of a record, by the record's id.
Records = Mapping[str, Mapping[str, Any]]
PAGE = 25
_ACTIVITIES_PER_PAGE = 3


class Worker(ABC):
    """Works at one product without end, and checks every answer against what it wrote and saw before."""

    product: ClassVar[str]
    # The fields that are compared.
    watched: ClassVar[tuple[str, ...]]
    content_type: ClassVar[str] = "application/json"

    def __init__(self, access: ProductAccess, chance: random.Random, episode: str) -> None:
        self._base = access.base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {access.credential}", "content-type": self.content_type}
        self._chance = chance
        self._episode = episode
        self._observations = Observations(self.watched)
        # Ids of records that a list has shown.
        self._listed: list[str] = []
        self._writes = 0

    def work(self) -> Exchanges:
        while True:
            yield from self._browse()
            for _ in range(_ACTIVITIES_PER_PAGE):
                weights = self._activities()
                (activity,) = self._chance.choices(list(weights), list(weights.values()))
                yield from activity()

    @abstractmethod
    def _browse(self) -> Exchanges:
        """Read a page of records, so that there are ids to choose from."""

    @abstractmethod
    def _activities(self) -> Mapping[Activity, int]:
        """Return what this worker does, and how often relative to the rest."""

    def _pick(self) -> str:
        return self._chance.choice(self._listed)

    def _list(self, ids: Sequence[str]) -> None:
        """Remember a page; the last page has nobody after it."""
        self._listed = list(ids) or self._listed

    def _check(self, response: Response, records: Records, expected_id: str | None = None) -> None:
        self._observations.check_records(response.revision, records, expected_id)

    def _check_revision(self, response: Response) -> None:
        self._observations.record_revision(response.revision)

    def _record_write(self, response: Response, changes: Mapping[str, Mapping[str, str]]) -> None:
        self._observations.record_write(response.revision, changes)

    def _last_observed(self, record_id: str, field: str) -> str | None:
        return self._observations.known.get(record_id, {}).get(field)

    def _count_write(self) -> int:
        self._writes += 1
        return self._writes

    def _call(self, name: str, method: str, path: str, body: Any = None, status: int = 200) -> Call:
        content = None if body is None else self._encode(body)
        return Call(
            name=f"{self.product} {name}",
            method=method,
            url=self._base + path,
            headers=self._headers,
            body=content,
            expected=frozenset({status}),
            episode=self._episode,
        )

    def _get(self, name: str, path: str) -> Call:
        return self._call(name, "GET", path)

    def _encode(self, body: Any) -> bytes:
        return orjson.dumps(body)
