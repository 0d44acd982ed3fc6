"""Workers: ordinary work at one product, one module per product, found by the name of the module."""

from importlib import import_module
from pkgutil import iter_modules

from loadtests.workers.worker import Worker


def find_workers() -> dict[str, type[Worker]]:
    """Return the worker of each product that has one."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return {worker.product: worker for worker in sorted(Worker.__subclasses__(), key=lambda kind: kind.product)}
