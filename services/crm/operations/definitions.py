"""Property definitions as the write and search paths need them: looked up by name, parsed once."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

import orjson

from services.crm import defaults
from services.crm.errors import InvalidRequest
from services.crm.tables import property_definitions, qualified
from services.kernel.world import World

_BY_ID = (
    "SELECT name, definition, archived_at FROM property_definitions WHERE id IN (SELECT value FROM json_each(:ids))"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a property may hold."""

    type: str
    field_type: str
    options: tuple[str, ...]
    labels: tuple[str, ...]
    is_unique: bool
    is_external: bool
    is_read_only: bool
    is_calculated: bool

    @property
    def is_multiple(self) -> bool:
        return self.type == "enumeration" and self.field_type == "checkbox"

    @property
    def is_exact(self) -> bool:
        """Enumerations are compared letter by letter, everything else without regard to case."""
        return self.type in ("enumeration", "bool")

    @property
    def is_numeric(self) -> bool:
        return self.type in ("number", "date", "datetime")


def lookup(world: World, kind: str, names: Iterable[str]) -> dict[str, Definition]:
    """The live definitions among these names; where a world says nothing of a property, the shipped one holds."""
    wanted = [qualified(kind, name) for name in names]
    rows = world.rows(_BY_ID, {"ids": orjson.dumps(wanted).decode()})
    known = {name: _parsed(text) for name, text, archived_at in rows if archived_at is None}
    if len(rows) < len(wanted):
        told = {qualified(kind, name) for name, _, _ in rows}
        shipped = _shipped()
        silent = [key for key in wanted if key not in told and key in shipped]
        known |= {key.removeprefix(f"{kind}."): shipped[key] for key in silent}
    return known


def require(world: World, kind: str, name: str) -> Definition:
    found = lookup(world, kind, (name,)).get(name)
    if found is None:
        raise InvalidRequest(
            f"There was a problem with the request. Property '{name}' does not exist.",
            context={"propertyName": [name]},
        )
    return found


# Templates share their definitions: a few hundred texts serve every episode of a process.
@lru_cache(maxsize=4096)
def _parsed(text: str) -> Definition:
    told = orjson.loads(text)
    return Definition(
        type=told["type"],
        field_type=told["fieldType"],
        options=tuple(one["value"] for one in told["options"]),
        labels=tuple(one["label"] for one in told["options"]),
        is_unique=told["hasUniqueValue"],
        is_external=told["externalOptions"],
        is_read_only=told["readOnlyValue"],
        is_calculated=told["calculated"],
    )


@cache
def _shipped() -> dict[str, Definition]:
    rows = next(rows for table, rows in defaults.rows(0) if table is property_definitions)
    return {row["id"]: _parsed(orjson.dumps(row["definition"]).decode()) for row in rows}
