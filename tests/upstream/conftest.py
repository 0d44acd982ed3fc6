"""A stack with the IDE alone, and the archives of public packages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.upstream.fetching import fetch_archives
from services.kernel.config import upstream_folder
from services.validate.in_process_stack import InProcessStack
from tests.ide.small_world import build_small_world


@pytest.fixture(scope="session")
def archives() -> Path:
    """Fetched where they are missing; without them nothing here can be tested, so this fails and skips nothing."""
    folder = upstream_folder()
    assert folder is not None, "DAYSHIFT_UPSTREAM is 0: the tests of public packages need their archives"
    fetched = fetch_archives(folder)
    assert not fetched.failed, (
        f"{len(fetched.failed)} archives could not be fetched from the package registry ({fetched.failed[0]}): "
        "the tests of public packages need it, once"
    )
    return folder


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, archives: Path) -> Iterator[InProcessStack]:
    assert archives.exists()
    folder = tmp_path_factory.mktemp("upstream")
    build_small_world(folder)
    with InProcessStack(folder, ("ide",), "small") as opened:
        yield opened
