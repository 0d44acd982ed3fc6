"""Property definitions as the write and search paths need them: looked up by name, parsed once."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

import orjson

from services.crm import defaults
from services.crm.errors import InvalidRequest
from services.crm.rows import ObjectTypeName, PropertyDocument, PropertyType
from services.crm.tables import property_key
from services.kernel.world import World

_BY_ID = (
    "SELECT name, definition, archived_at FROM property_definitions WHERE id IN (SELECT value FROM json_each(:ids))"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """The values that a property takes."""

    type: PropertyType
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


def lookup(world: World, type_name: ObjectTypeName, names: Iterable[str]) -> dict[str, Definition]:
    """Returns the live definitions among these names; a default one holds where the world has no row for it."""
    keys = [property_key(type_name, name) for name in names]
    rows = world.rows(_BY_ID, {"ids": orjson.dumps(keys).decode()})
    definitions = {name: _parse(text) for name, text, archived_at in rows if archived_at is None}
    if len(rows) < len(keys):
        present = {property_key(type_name, name) for name, _, _ in rows}
        defaults_by_key = _default_definitions()
        missing = [key for key in keys if key not in present and key in defaults_by_key]
        definitions |= {key.removeprefix(f"{type_name}."): defaults_by_key[key] for key in missing}
    return definitions


def require(world: World, type_name: ObjectTypeName, name: str) -> Definition:
    definition = lookup(world, type_name, (name,)).get(name)
    if definition is None:
        raise InvalidRequest(
            f"There was a problem with the request. Property '{name}' does not exist.",
            context={"propertyName": [name]},
        )
    return definition


# Templates share their definitions: a few hundred texts serve every episode of a process.
@lru_cache(maxsize=4096)
def _parse(text: str) -> Definition:
    document: PropertyDocument = orjson.loads(text)
    return Definition(
        type=document["type"],
        field_type=document["fieldType"],
        options=tuple(option["value"] for option in document["options"]),
        labels=tuple(option["label"] for option in document["options"]),
        is_unique=document["hasUniqueValue"],
        is_external=document["externalOptions"],
        is_read_only=document["readOnlyValue"],
        is_calculated=document["calculated"],
    )


@cache
def _default_definitions() -> dict[str, Definition]:
    return {row["id"]: _parse(orjson.dumps(row["definition"]).decode()) for row in defaults.property_rows(0)}
