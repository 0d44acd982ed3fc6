"""Worlds for a test stack: people in the CRM, and nothing yet in any other product."""

from pathlib import Path

from services.kernel import catalog
from services.kernel.template import WorldMeta, build
from tests.control.worlds import NOW_MS, build_crm


def build_small_worlds(var: Path) -> Path:
    folder = var / "worlds"
    folder.mkdir(parents=True)
    build_crm(folder)
    for name, product in catalog.products().items():
        if name != "crm":
            about = WorldMeta(product=name, profile="standard", seed=1, now_ms=NOW_MS, counters={})
            build(folder / f"{name}-standard.sqlite", product.schema, about, [])
    return var
