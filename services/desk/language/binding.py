"""Parameters of one statement, each under a name of its own."""

from collections.abc import Iterable
from typing import Any

import orjson

_LARGEST = 1 << 62


class Binder:
    """Collects values; only shapes and our own names become SQL text."""

    __slots__ = ("parameters",)

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    def bind(self, value: Any) -> str:
        name = f"b{len(self.parameters)}"
        if isinstance(value, int):
            value = max(-_LARGEST, min(value, _LARGEST))
        self.parameters[name] = value
        return f":{name}"

    def bind_all(self, values: Iterable[Any]) -> str:
        """However many: one parameter."""
        return f"(SELECT value FROM json_each({self.bind(orjson.dumps(list(values)).decode())}))"  # noqa: S608 - bound
