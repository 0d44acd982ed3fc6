"""What every test stands on."""

import pytest

# The files that take longest, the longest first. A file belongs to one worker: whichever of these came last would keep
# one of them busy for a minute or more after all others are done.
SLOWEST_FIRST = (
    "tests/tasks/test_instances.py",
    "tests/planting/test_recognition.py",
    "tests/repository/test_tutorial.py",
    "tests/repository/test_python_versions.py",
    "tests/validate/test_validate.py",
    "tests/ide/test_families.py",
    "tests/exploits/test_know_nothing.py",
    "tests/repository/test_readme.py",
    "tests/repository/test_wheel.py",
    "tests/viewer/test_pages.py",
    "tests/ide/test_isolation.py",
    "tests/loadtests/test_chaos.py",
    "tests/loadtests/test_soak.py",
    "tests/repository/test_docs_site.py",
    "tests/exploits/test_saboteurs.py",
    "tests/exploits/test_controls.py",
    "tests/exploits/test_office.py",
    "tests/desk_tasks/test_cheats.py",
    "tests/ide/test_grader.py",
)
_RANK = {path: rank for rank, path in enumerate(SLOWEST_FIRST)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _RANK.get(item.nodeid.partition("::")[0], len(_RANK)))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
