"""The ledger's database: the engine and the migrations."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Connection

_MIGRATIONS = Path(__file__).resolve().parent / "migrations"
# Any number will do, as long as every control process uses the same.
_LOCK_NUMBER = 8700
_TIMEOUT_SECONDS = 5


def create_engine(url: str) -> sa.Engine:
    if url.startswith("sqlite"):
        engine = sa.create_engine(url, connect_args={"timeout": _TIMEOUT_SECONDS})
        sa.event.listen(engine, "connect", _tune_sqlite)
        return engine
    return sa.create_engine(
        url,
        pool_size=1,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": _TIMEOUT_SECONDS,
            "options": f"-c statement_timeout={1000 * _TIMEOUT_SECONDS}",
        },
    )


def _tune_sqlite(connection: Any, _: object) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def migrate(engine: sa.Engine) -> None:
    """Brings the schema up to date; of two processes that start at once, one waits for the other."""
    settings = Config()
    settings.set_main_option("script_location", str(_MIGRATIONS))
    with _migration_lock(engine) as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")


@contextmanager
def _migration_lock(engine: sa.Engine) -> Iterator[Connection]:
    if engine.dialect.name == "sqlite":
        database = Path(engine.url.database or "")
        database.parent.mkdir(parents=True, exist_ok=True)
        with database.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with engine.begin() as connection:
                yield connection
        return
    with engine.begin() as connection:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK_NUMBER})
        yield connection
