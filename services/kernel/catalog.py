"""Finds every folder that declares a product."""

import os
from functools import cache
from importlib import import_module
from pathlib import Path

from services.kernel.product import Product

_SERVICES = Path(__file__).resolve().parent.parent
_WITHOUT = "DAYSHIFT_WITHOUT"


class NoSuchProduct(KeyError):
    """No product has that name here, or it is left out."""


@cache
def names() -> tuple[str, ...]:
    """Every product there is, less those that are to be left out here."""
    left_out = os.environ.get(_WITHOUT, "").split(",")
    return tuple(name for name in declared() if name not in left_out)


@cache
def declared() -> tuple[str, ...]:
    return tuple(sorted(found.parent.name for found in _SERVICES.glob("*/product.py") if found.parent.name != "kernel"))


def leave_out(unusable: list[str]) -> None:
    """For this process and for those it starts."""
    known = [name for name in os.environ.get(_WITHOUT, "").split(",") if name]
    os.environ[_WITHOUT] = ",".join([*known, *unusable])
    names.cache_clear()


@cache
def product(name: str) -> Product:
    if name not in names():
        raise NoSuchProduct(f"no product is called {name!r}; there are {', '.join(names())}")
    declared: Product = import_module(f"services.{name}.product").product
    return declared


def products() -> dict[str, Product]:
    return {name: product(name) for name in names()}
