"""The package: its dependencies, its imports, its public names and its registered environments."""

import ast
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import dayshift
import gymnasium
import pytest
from dayshift import errors
from dayshift.registration import ALSO_NEEDED, PRODUCTS
from dayshift.task_sampling import list_eligible_tasks
from dayshift.wire import Budget, Families, Family
from packaging.requirements import Requirement

from fixtures.tasks.family import SPLITS
from fixtures.tasks.registry import families
from services.kernel import catalog

_HOME = Path(dayshift.__file__).parent
_DECLARED = {"gymnasium", "httpx", "pydantic", "numpy"}
_EXTRAS = {"rich", "pyarrow", "matplotlib", "prompt_toolkit", "minari", "pettingzoo"}
_SERVERS = {
    "fastapi",
    "starlette",
    "uvicorn",
    "uvloop",
    "sqlalchemy",
    "redis",
    "psycopg",
    "orjson",
    "alembic",
    "locust",
}


def test_installing_it_pulls_no_server_library() -> None:
    queue, installed = ["dayshift"], set()
    while queue:
        name = queue.pop()
        if name not in installed:
            installed.add(name)
            requirements = map(Requirement, requires(name) or ())
            queue += [requirement.name.lower() for requirement in requirements if _applies(requirement)]

    assert {"gymnasium", "httpx", "pydantic"} <= installed
    assert not installed & _SERVERS
    assert not any(name.startswith("dayshift-") for name in installed)


def test_no_module_imports_more_than_the_package_declares() -> None:
    for path in sorted(_HOME.glob("*.py")):
        tree = ast.parse(path.read_text())
        at_import = {name for node in tree.body for name in _imported(node)}
        anywhere = {name for node in ast.walk(tree) for name in _imported(node)}
        foreign = {name for name in anywhere if name not in sys.stdlib_module_names and name != "dayshift"}
        assert foreign <= _DECLARED | _EXTRAS, path.name
        assert not at_import & _EXTRAS, path.name


def test_importing_it_loads_no_extra_and_not_httpx() -> None:
    optional = {"httpx", *_EXTRAS}
    loaded = _python("import sys, dayshift; print(*{name.partition('.')[0] for name in sys.modules})").split()

    assert not optional & set(loaded)


def test_importing_it_takes_less_than_four_tenths_of_a_second() -> None:
    """CPU time, because other tests run at the same time; the best of five, because the first reads from the disk."""
    program = "import time; start = time.process_time(); import dayshift; print(time.process_time() - start)"

    assert min(float(_python(program)) for _ in range(5)) <= 0.4


@pytest.mark.parametrize("order", ["import dayshift, gymnasium", "import gymnasium, dayshift"])
def test_gymnasium_knows_the_environments_in_either_order(order: str) -> None:
    ids = _python(f"{order}; print(*[i for i in gymnasium.registry if i.startswith('dayshift/')])").split()

    names = [product.capitalize() for product in catalog.all_names()]
    assert sorted(ids) == sorted(
        f"dayshift/{name}-v0" for name in (*names, "Menu", "Office", "Orchestrator", "Specialist")
    )


def test_the_client_registers_every_product_of_the_catalogue() -> None:
    """A new product adds its name to `PRODUCTS`."""
    assert sorted(PRODUCTS) == sorted(catalog.all_names())


def test_every_product_without_a_task_samples_all_its_own_families() -> None:
    """A family that needs a further product adds it to `ALSO_NEEDED`."""
    for product in PRODUCTS:
        kwargs = gymnasium.spec(f"dayshift/{product.capitalize()}-v0").kwargs
        for split in SPLITS:
            own = [
                name for name, found in families().items() if name.startswith(f"{product}/") and split in found.splits
            ]

            assert own
            assert list_eligible_tasks(_listed(), kwargs["products"], split, kwargs["families"]) == sorted(own)


def test_no_product_is_needed_that_no_family_of_its_own_uses() -> None:
    for product, others in ALSO_NEEDED.items():
        used = {
            other for name, found in families().items() if name.startswith(f"{product}/") for other in found.products
        }

        assert used == {product, *others}


def _listed() -> Families:
    return Families(
        families=[
            Family(
                id=found.id,
                products=list(found.products),
                split=list(found.splits),
                title=found.title,
                instances={split: found.count_instances(split) for split in found.splits},
                budget=Budget(steps=found.budget.steps, hours=found.budget.hours),
            )
            for found in families().values()
        ]
    )


def test_a_product_that_the_client_does_not_know_can_be_registered() -> None:
    program = "import dayshift, gymnasium; print(gymnasium.spec(dayshift.register_product('wiki')).kwargs['products'])"

    assert _python(program) == "('wiki',)"


def test_every_name_that_the_package_imports_is_public() -> None:
    tree = ast.parse((_HOME / "__init__.py").read_text())
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}

    assert imported - {"VERSION", "register_environments"} == set(dayshift.__all__)


def test_the_diagram_of_the_errors_names_every_error() -> None:
    drawn = re.findall(r"([A-Z]\w+) ", (errors.__doc__ or "").partition("\n")[2])
    defined = [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)]

    assert {"DayshiftError", *drawn} == set(defined)


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    return set()


def _python(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
