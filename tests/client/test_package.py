"""The package is light: what it needs, what it imports, and when."""

import ast
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import dayshift
import pytest
from dayshift import errors
from packaging.requirements import Requirement

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
    waiting, reached = ["dayshift"], set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [one.name.lower() for one in map(Requirement, requires(name) or ()) if _applies(one)]

    assert {"gymnasium", "httpx", "pydantic"} <= reached
    assert not reached & _SERVERS
    assert not any(name.startswith("dayshift-") for name in reached)


def test_no_module_imports_more_than_was_declared() -> None:
    for path in sorted(_HOME.glob("*.py")):
        tree = ast.parse(path.read_text())
        at_import = {name for node in tree.body for name in _imported(node)}
        anywhere = {name for node in ast.walk(tree) for name in _imported(node)}
        foreign = {name for name in anywhere if name not in sys.stdlib_module_names and name != "dayshift"}
        assert foreign <= _DECLARED | _EXTRAS, path.name
        assert not at_import & _EXTRAS, path.name


def test_importing_it_loads_nothing_heavy() -> None:
    said = _python(
        "import sys, dayshift; print(sorted({'numpy', 'gymnasium', 'httpx', 'pydantic'} & set(sys.modules)))"
    )

    assert said == "[]"


@pytest.mark.parametrize("order", ["import dayshift, gymnasium", "import gymnasium, dayshift"])
def test_gymnasium_knows_the_environments_in_either_order(order: str) -> None:
    ids = _python(f"{order}; print(*[i for i in gymnasium.registry if i.startswith('dayshift/')])").split()

    assert {"dayshift/Crm-v0", "dayshift/Desk-v0", "dayshift/Ide-v0", "dayshift/Office-v0"} <= set(ids)


def test_every_public_name_exists() -> None:
    for name in dayshift.__all__:
        assert getattr(dayshift, name) is not None
    with pytest.raises(AttributeError):
        dayshift.nothing_of_that_name  # noqa: B018 - the access is what is tested


def test_the_drawing_of_the_errors_is_the_tree_of_the_errors() -> None:
    drawn = re.findall(r"([A-Z]\w+) ", (errors.__doc__ or "").partition("\n")[2])
    there = [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)]

    assert {"DayshiftError", *drawn} == set(there)


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
