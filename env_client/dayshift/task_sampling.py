"""Samples a task family for each episode whose task is not given."""

import hashlib

import numpy as np

from dayshift.errors import UsageError
from dayshift.wire import Families, Split


def list_eligible_tasks(families: Families, products: tuple[str, ...], split: Split, prefix: str = "") -> list[str]:
    """Lists the families of a split whose ids start with `prefix` and that need none but these products.

    Without `products`, every product is allowed.
    """
    tasks = [
        family.id
        for family in families.families
        if split in family.split
        and family.id.startswith(prefix)
        and (not products or set(family.products) <= set(products))
    ]
    if not tasks:
        kind = f" {prefix}…" if prefix else ""
        allowed = ", ".join(products) or "these products"
        raise UsageError(f"no task{kind} of the {split} split works with {allowed} alone")
    return sorted(tasks)


def sample_task(tasks: list[str], seed: int) -> str:
    digest = hashlib.sha256(f"task\x1f{seed}".encode()).digest()
    return tasks[int.from_bytes(digest[:8], "big") % len(tasks)]


def sample_seed(chance: np.random.Generator) -> int:
    return int(chance.integers(2**31))
