"""The fields that a request sent."""

from collections.abc import Iterable
from typing import Any

Payload = dict[str, Any]


def pick(payload: Payload, names: Iterable[str]) -> Any:
    """Returns those of the fields that were sent; the request's schema has checked their types."""
    return {name: payload[name] for name in names if name in payload}
