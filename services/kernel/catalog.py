"""Finds every folder that declares a product."""

from functools import cache
from importlib import import_module
from pathlib import Path

from services.kernel.product import Product

_SERVICES = Path(__file__).resolve().parent.parent


@cache
def names() -> tuple[str, ...]:
    return tuple(sorted(found.parent.name for found in _SERVICES.glob("*/product.py") if found.parent.name != "kernel"))


@cache
def product(name: str) -> Product:
    if name not in names():
        raise KeyError(f"no product is called {name!r}; there are {', '.join(names())}")
    declared: Product = import_module(f"services.{name}.product").product
    return declared


def products() -> dict[str, Product]:
    return {name: product(name) for name in names()}
