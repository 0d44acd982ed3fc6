"""Samples a task family for each episode whose task is not given."""

import hashlib
from collections.abc import Sequence

import numpy as np

from dayshift.errors import UsageError
from dayshift.wire import Families, Split


def list_eligible_tasks(
    families: Families, products: tuple[str, ...], split: Split, prefix: str | Sequence[str] = ""
) -> list[str]:
    """Lists the families of a split whose ids start with `prefix` and that need none but these products.

    `prefix` may be a sequence instead: ids, and prefixes that end in a slash. Without `products`, all are allowed.
    """
    tasks = [
        family.id
        for family in families.families
        if split in family.split
        and _is_wanted(family.id, prefix)
        and (not products or set(family.products) <= set(products))
    ]
    if not tasks:
        kind = f" {prefix}…" if isinstance(prefix, str) and prefix else "" if not prefix else f" of {', '.join(prefix)}"
        allowed = ", ".join(products) or "these products"
        raise UsageError(f"no task{kind} of the {split} split works with {allowed} alone")
    return sorted(tasks)


def _is_wanted(family: str, patterns: str | Sequence[str]) -> bool:
    if isinstance(patterns, str):
        return family.startswith(patterns)
    return any(family == each or (each.endswith("/") and family.startswith(each)) for each in patterns)


def sample_task(tasks: list[str], seed: int) -> str:
    digest = hashlib.sha256(f"task\x1f{seed}".encode()).digest()
    return tasks[int.from_bytes(digest[:8], "big") % len(tasks)]


def sample_seed(chance: np.random.Generator) -> int:
    return int(chance.integers(2**31))
