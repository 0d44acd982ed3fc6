"""Chance that is the same on every machine."""

import hashlib
import random  # noqa: TID251 - the one place that may: seeded, and only getrandbits is used
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Chance:
    """A named stream of chance, seeded by SHA-256 of (seed, name)."""

    __slots__ = ("_bits",)

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.sha256(f"{seed}\x1f{name}".encode()).digest()
        self._bits = random.Random(int.from_bytes(digest, "big"))  # noqa: S311 - not a secret

    def below(self, limit: int) -> int:
        if limit <= 0:
            raise ValueError(f"no number is below {limit} and not negative")
        width = limit.bit_length()
        while (drawn := self._bits.getrandbits(width)) >= limit:
            continue
        return drawn

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed

    def token(self, length: int) -> str:
        alphabet = "0123456789abcdef"
        return "".join(alphabet[self.below(16)] for _ in range(length))
