"""Which task falls to which seed."""

import hashlib

import numpy as np

from dayshift.errors import Misuse
from dayshift.wire import Families, Split


def eligible(families: Families, products: tuple[str, ...], split: Split, beginning: str = "") -> list[str]:
    """Those of this split that begin so and need nothing beyond these products (any, if none is named)."""
    found = [
        family.id
        for family in families.families
        if split in family.split
        and family.id.startswith(beginning)
        and (not products or set(family.products) <= set(products))
    ]
    if not found:
        called = f" {beginning}…" if beginning else ""
        raise Misuse(f"no task{called} of the {split} split works with {', '.join(products) or 'these products'} alone")
    return sorted(found)


def draw_task(tasks: list[str], seed: int) -> str:
    digest = hashlib.sha256(f"task\x1f{seed}".encode()).digest()
    return tasks[int.from_bytes(digest[:8], "big") % len(tasks)]


def draw_seed(chance: np.random.Generator) -> int:
    return int(chance.integers(2**31))
