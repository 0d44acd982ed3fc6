"""The catalogue of products: every folder in `services/` that declares one, and those that are added from elsewhere.

`DAYSHIFT_PRODUCTS` adds products: module names such as `company.payroll.product`, separated by commas.
`DAYSHIFT_WITHOUT` leaves products out, by name, and `mcp` the endpoint for all of them.
Both are inherited by the processes that this one starts.
"""

import os
from functools import cache
from importlib import import_module
from pathlib import Path

from services.kernel.product import Product

_SERVICES = Path(__file__).resolve().parent.parent
_ADDED = "DAYSHIFT_PRODUCTS"
_WITHOUT = "DAYSHIFT_WITHOUT"


class NoSuchProduct(KeyError):
    """No product has that name here, or it is left out."""


class BadProduct(ValueError):
    """A module of `DAYSHIFT_PRODUCTS` that does not declare a product of its own name."""


@cache
def names() -> tuple[str, ...]:
    """Every product, without those that are left out here."""
    left_out = _read_list(_WITHOUT)
    return tuple(name for name in all_names() if name not in left_out)


def is_left_out(name: str) -> bool:
    """Whether a product, or another service such as `mcp` or the console, is left out here."""
    return name in _read_list(_WITHOUT)


@cache
def all_names() -> tuple[str, ...]:
    """Every product, with those that are left out here."""
    return tuple(sorted(_modules()))


@cache
def packages() -> dict[str, str]:
    """The package of each product that was added from elsewhere, by the product's name."""
    added: dict[str, str] = {}
    for module in _read_list(_ADDED):
        package, _, last = module.rpartition(".")
        name = package.rpartition(".")[2]
        if not name or last != "product":
            raise BadProduct(f"{_ADDED} names {module!r}; it takes product modules such as company.payroll.product")
        added[name] = package
    return added


def add(module: str) -> None:
    """Adds the product that this module declares, for this process and for those that it starts."""
    _write_list(_ADDED, [*_read_list(_ADDED), module])


def remove(module: str) -> None:
    """Takes back `add`."""
    _write_list(_ADDED, [added for added in _read_list(_ADDED) if added != module])


def leave_out(unusable: list[str]) -> None:
    """Leaves these products out, for this process and for those that it starts."""
    _write_list(_WITHOUT, [*_read_list(_WITHOUT), *unusable])


@cache
def product(name: str) -> Product:
    if name not in names():
        raise NoSuchProduct(f"no product is called {name!r}; there are {', '.join(names())}")
    module = _modules()[name]
    declared_product: Product = import_module(module).product
    if declared_product.name != name:
        raise BadProduct(f"{module} declares a product called {declared_product.name!r}; its folder is {name!r}")
    return declared_product


def products() -> dict[str, Product]:
    return {name: product(name) for name in names()}


def _modules() -> dict[str, str]:
    own = {path.parent.name: f"services.{path.parent.name}.product" for path in _SERVICES.glob("*/product.py")}
    own.pop("kernel", None)
    added = {name: f"{package}.product" for name, package in packages().items()}
    if twice := sorted(own.keys() & added.keys()):
        raise BadProduct(f"{_ADDED} adds {', '.join(twice)}, which there is already")
    return own | added


def _read_list(variable: str) -> list[str]:
    return [item for item in os.environ.get(variable, "").split(",") if item]


def _write_list(variable: str, items: list[str]) -> None:
    os.environ[variable] = ",".join(items)
    for cached in (names, all_names, packages, product):
        cached.cache_clear()
