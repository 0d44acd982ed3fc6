"""Signs of a call: its operation and the shape of its arguments as numbers, by feature hashing.

A policy can then tell operations and fields apart without a list of all of them; the numbers of a word are the same in
every process and in every version of the products.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dayshift.calls import Call

OPERATION_SIGNS = 8
ARGUMENT_SIGNS = 16
# A choice among words that the product defines, such as `solved` or `NOT_STARTED`; names and texts look otherwise.
_KEYWORD = re.compile(r"[a-z_]{2,24}|[A-Z_]{2,24}")


def compute_signs(call: Call) -> tuple[float, ...]:
    """Returns the signs of the operation, and the mean of those of the arguments' names and keywords."""
    words = list(_iterate_words(dict(call.arguments), ""))
    columns = zip(*(_hash(word, ARGUMENT_SIGNS) for word in words), strict=True)
    arguments = tuple(sum(column) / len(words) for column in columns) if words else (0.0,) * ARGUMENT_SIGNS
    return _hash(call.operation, OPERATION_SIGNS) + arguments


@lru_cache(4096)
def _hash(word: str, count: int) -> tuple[float, ...]:
    """Returns `count` numbers, each 1 or -1."""
    bits = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    return tuple(1.0 if bits >> place & 1 else -1.0 for place in range(count))


def _iterate_words(value: Any, path: str) -> Iterator[str]:
    """Yields the path of each argument, and with a keyword or a boolean its value too."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _iterate_words(item, f"{path}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_words(item, path)
    else:
        yield path
        if isinstance(value, bool) or (isinstance(value, str) and _KEYWORD.fullmatch(value)):
            yield f"{path}={value}"
