"""Entrance: what every environment needs to open episodes: a connection, what can be called, and the lots."""

from collections.abc import Mapping
from typing import Any

from dayshift.connection import Address, Connection
from dayshift.discovery import discover
from dayshift.episode import Episode
from dayshift.lots import draw_task, eligible
from dayshift.operations import Catalogue
from dayshift.wire import OpenRequest, Split


class Entrance:
    """Opens one episode after the other; `asked` is what they have in common."""

    def __init__(
        self,
        asked: OpenRequest,
        products: tuple[str, ...],
        control_url: str | None = None,
        timeout: float = 30.0,
        families: str = "",
    ) -> None:
        self.asked = asked
        self._products = products
        self._families = families
        self._connection = Connection(Address.find(control_url), timeout=timeout)
        self._drawable: dict[Split, list[str]] = {}
        self.operations = self._discovered()

    def open(self, seed: int, options: Mapping[str, Any]) -> Episode:
        return Episode.open(self._drawn(seed, options), connection=self._connection)

    def close(self) -> None:
        self._connection.close()

    def _discovered(self) -> Catalogue:
        try:
            return self._connection.run(discover(self._connection.address.control, self.asked.world, self._products))
        except BaseException:
            self._connection.close()
            raise

    def _drawn(self, seed: int, options: Mapping[str, Any]) -> OpenRequest:
        asked = OpenRequest.model_validate({**self.asked.model_dump(), **options, "seed": seed})
        if asked.task is not None:
            return asked
        if asked.split not in self._drawable:
            families = self._connection.run(self._connection.address.control.families())
            self._drawable[asked.split] = eligible(families, self._products, asked.split, self._families)
        return asked.model_copy(update={"task": draw_task(self._drawable[asked.split], seed)})
