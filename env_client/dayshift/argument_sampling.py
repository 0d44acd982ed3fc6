"""Samples random arguments that a JSON schema allows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MAX_DEPTH = 5


def sample_arguments(schema: Mapping[str, Any], chance: np.random.Generator) -> dict[str, Any]:
    arguments = _Sampler(schema.get("$defs", {}), chance).sample(schema, 0)
    return arguments if isinstance(arguments, dict) else {}


class _Sampler:
    """Samples values; at a certain depth it leaves out what is optional, so that recursive schemas end."""

    def __init__(self, definitions: Mapping[str, Any], chance: np.random.Generator) -> None:
        self._definitions = definitions
        self._chance = chance

    def sample(self, schema: Mapping[str, Any], depth: int) -> Any:
        if "$ref" in schema:
            return self.sample(self._definitions[schema["$ref"].rpartition("/")[2]], depth)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][self._sample_below(len(schema["enum"]))]
        for union in ("anyOf", "oneOf", "allOf"):
            if schema.get(union):
                return self.sample(schema[union][self._sample_below(len(schema[union]))], depth)
        return self._sample_type(schema, depth)

    def _sample_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get("type", "string")
        match kind[0] if isinstance(kind, list) else kind:
            case "object":
                return self._sample_object(schema, depth)
            case "array":
                return self._sample_array(schema, depth)
            case "integer":
                return int(self._sample_number(schema, 1))
            case "number":
                return float(self._sample_number(schema, 0))
            case "boolean":
                return bool(self._sample_below(2))
            case "null":
                return None
            case _:
                return self._sample_text(schema)

    def _sample_object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        properties = schema.get("properties", {})
        takes_optional = depth < _MAX_DEPTH
        return {
            name: self.sample(property_schema, depth + 1)
            for name, property_schema in properties.items()
            if name in required or (takes_optional and self._sample_below(3) == 0)
        }

    def _sample_array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = int(schema.get("minItems", 0))
        most = least if depth >= _MAX_DEPTH else min(least + 2, int(schema.get("maxItems", least + 2)))
        length = least + self._sample_below(most - least + 1)
        return [self.sample(schema.get("items", {}), depth + 1) for _ in range(length)]

    def _sample_number(self, schema: Mapping[str, Any], step: float) -> float:
        low = float(schema.get("minimum", schema.get("exclusiveMinimum", 0)))
        high = float(schema.get("maximum", schema.get("exclusiveMaximum", low + 100)))
        if "exclusiveMinimum" in schema:
            low += step or (high - low) * 1e-6
        return float(self._chance.uniform(low, min(high, low + 1000)))

    def _sample_text(self, schema: Mapping[str, Any]) -> str:
        least, most = int(schema.get("minLength", 1)), int(schema.get("maxLength", 12))
        length = least + self._sample_below(min(most, least + 11) - least + 1)
        # Ids are small numbers in these products, so digits name an existing record more often than letters.
        alphabet, length = ("0123456789", max(least, min(length, 3))) if self._sample_below(2) else (_LETTERS, length)
        return "".join(alphabet[self._sample_below(len(alphabet))] for _ in range(length))

    def _sample_below(self, limit: int) -> int:
        return int(self._chance.integers(max(1, limit)))
