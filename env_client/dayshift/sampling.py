"""Random arguments that a JSON schema allows: what a random policy plays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DEEPEST = 5


def sample_arguments(schema: Mapping[str, Any], chance: np.random.Generator) -> dict[str, Any]:
    drawn = _Sampler(schema.get("$defs", {}), chance).value(schema, 0)
    return drawn if isinstance(drawn, dict) else {}


class _Sampler:
    """Draws values; deep or unbounded schemas are cut short rather than exhausted."""

    def __init__(self, definitions: Mapping[str, Any], chance: np.random.Generator) -> None:
        self._definitions = definitions
        self._chance = chance

    def value(self, schema: Mapping[str, Any], depth: int) -> Any:
        if "$ref" in schema:
            return self.value(self._definitions[schema["$ref"].rpartition("/")[2]], depth)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][self._below(len(schema["enum"]))]
        for union in ("anyOf", "oneOf", "allOf"):
            if schema.get(union):
                return self.value(schema[union][self._below(len(schema[union]))], depth)
        return self._typed(schema, depth)

    def _typed(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get("type", "string")
        match kind[0] if isinstance(kind, list) else kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer":
                return int(self._number(schema, 1))
            case "number":
                return float(self._number(schema, 0))
            case "boolean":
                return bool(self._below(2))
            case "null":
                return None
            case _:
                return self._text(schema)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        inside = schema.get("properties", {})
        optional = depth < _DEEPEST
        return {
            name: self.value(inner, depth + 1)
            for name, inner in inside.items()
            if name in required or (optional and self._below(3) == 0)
        }

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = int(schema.get("minItems", 0))
        most = least if depth >= _DEEPEST else min(least + 2, int(schema.get("maxItems", least + 2)))
        length = least + self._below(most - least + 1)
        return [self.value(schema.get("items", {}), depth + 1) for _ in range(length)]

    def _number(self, schema: Mapping[str, Any], step: float) -> float:
        low = float(schema.get("minimum", schema.get("exclusiveMinimum", 0)))
        high = float(schema.get("maximum", schema.get("exclusiveMaximum", low + 100)))
        if "exclusiveMinimum" in schema:
            low += step or (high - low) * 1e-6
        return float(self._chance.uniform(low, min(high, low + 1000)))

    def _text(self, schema: Mapping[str, Any]) -> str:
        least, most = int(schema.get("minLength", 1)), int(schema.get("maxLength", 12))
        length = least + self._below(min(most, least + 11) - least + 1)
        # Ids are small numbers in these products: digits meet something more often than letters do.
        alphabet, length = ("0123456789", max(least, min(length, 3))) if self._below(2) else (_LETTERS, length)
        return "".join(alphabet[self._below(len(alphabet))] for _ in range(length))

    def _below(self, bound: int) -> int:
        return int(self._chance.integers(max(1, bound)))
