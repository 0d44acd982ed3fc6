"""Setups of tasks on forks of the small company, and what they write."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from fixtures.tasks.family import Family, Split
from services.kernel import catalog
from services.kernel.changes import Change, net
from services.kernel.episodes import Worlds
from services.kernel.world import World
from tests.company import WORLD
from tests.planting.metadata import Entry

Place = tuple[str, str]


class Setups:
    """Plants tasks, and reads what the template has in the same tables."""

    def __init__(self, worlds_folder: Path, world: str = WORLD) -> None:
        self._world = world
        self._worlds = {name: Worlds(catalog.product(name), worlds_folder, (world,)) for name in catalog.names()}
        self._template: dict[Place, list[Entry]] = {}

    def close(self) -> None:
        for worlds in self._worlds.values():
            worlds.close()

    @contextmanager
    def forks(self, products: tuple[str, ...], seed: int) -> Iterator[dict[str, World]]:
        forks = {name: self._worlds[name].forks_of(self._world) for name in products}
        taken = {name: pool.take() for name, pool in forks.items()}
        try:
            yield {name: World(fork, seed) for name, fork in taken.items()}
        finally:
            for name, pool in forks.items():
                pool.give_back(taken[name])

    def plant(self, family: Family[Any], seed: int, split: Split) -> dict[str, list[Change]]:
        """The rows that a setup writes, by product."""
        with self.forks(family.products, seed) as worlds:
            family.instance(worlds, family.draw(seed, split))
            return {name: net(world.changes()) for name, world in worlds.items()}

    def template(self, place: Place) -> list[Entry]:
        """The template's rows of a table; of one kind of record in the CRM."""
        if place not in self._template:
            product, name = place
            table, _, kind = name.partition(":")
            with self.forks((product,), 0) as worlds:
                rows = _read_rows(worlds[product], product, table)
            entries = [entry_of(row, planted=False) for row in rows if not kind or row.get("kind") == kind]
            self._template[place] = [entry for entry in entries if entry is not None]
        return self._template[place]


def _read_rows(world: World, product: str, table: str) -> list[dict[str, Any]]:
    columns = [column.name for column in catalog.product(product).table(table).columns]
    rows = world.rows(f'SELECT {", ".join(columns)} FROM "{table}"')
    return [dict(zip(columns, values, strict=True)) for values in rows]


def new_entries(changes: Mapping[str, list[Change]]) -> dict[Place, list[Entry]]:
    """Planted rows by table, without those of the template that are merely modified."""
    entries: dict[Place, list[Entry]] = {}
    for product, changed in changes.items():
        for change in changed:
            if change.before is None and change.after is not None:
                kind = f":{change.after['kind']}" if change.table == "objects" else ""
                if (entry := entry_of(change.after, planted=True)) is not None:
                    entries.setdefault((product, change.table + kind), []).append(entry)
    return entries


def entry_of(row: Mapping[str, Any], *, planted: bool) -> Entry | None:
    """None for rows that have no time of creation."""
    body: Any = row if "author" in row else row.get("body", row.get("properties", {}))
    fields: Mapping[str, Any] = orjson.loads(body) if isinstance(body, str) else body
    if row.get("created_at") is not None:
        created, updated = row["created_at"], row.get("updated_at") or row["created_at"]
    elif isinstance(fields.get("created"), int):
        created = updated = fields["created"] * 1000
    else:
        return None
    present = frozenset(name for name, value in fields.items() if value not in (None, "", [], {}) and name[0] != "_")
    return Entry(row["id"], created, updated, present, planted)
