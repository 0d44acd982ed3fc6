"""The ledger's promises, on SQLite and on a real PostgreSQL."""

import multiprocessing
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from dayshift.wire import EpisodePhase, InjectedFault, Verdict

from services.control import tables
from services.control.database import create_engine, migrate
from services.control.ledger import Beginning, Ending, Ledger
from services.control.problems import LedgerDown

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ledger.sqlite'}"
        return
    server = sa.make_url(request.getfixturevalue("postgres_url"))
    name = f"ledger_{request.node.name.encode().hex()[:40]}"
    keeper = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with keeper.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield server.set(database=name).render_as_string(hide_password=False)
    with keeper.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    keeper.dispose()


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[Ledger]:
    opened = Ledger(url)
    await opened.start()
    yield opened
    await opened.stop()


def beginning(number: int) -> Beginning:
    return Beginning(
        id=f"{number:024x}",
        task="crm/correct-contact",
        seed=2**63 - 1,
        split="train",
        world="standard",
        faults="none",
        products=("crm",),
        fingerprint="f" * 64,
        brief="Für Łucja, 東京, and a NUL:\x00.",
        clock="2026-09-21T14:13:20.000Z",
    )


def ending(number: int, outcome: str = "passed", because: str | None = None, *, ours: bool = False) -> Ending:
    reward = None if outcome == "unscored" else 1 / 3
    verdict = Verdict(
        outcome=outcome,
        reward=reward,
        because=because,
        faults=[InjectedFault(product="crm", kind="delay", operation=2)],
        steps=3,
        clock="2026-09-21T14:13:23.000Z",
    )
    return Ending(
        id=f"{number:024x}",
        phase=EpisodePhase.JUDGED,
        verdict=verdict,
        exact=None if reward is None else Fraction(1, 3),
        ours=ours,
        steps=[{"product": "crm", "answer": "x" * 10_000}],
        diff={"crm": [{"revision": 1}]},
        revisions={"crm": 1},
    )


async def test_what_was_written_is_read_again(ledger: Ledger) -> None:
    await ledger.begin(beginning(1))
    assert await ledger.end(ending(1))

    recorded = await ledger.read_episode(beginning(1).id)

    assert recorded is not None
    assert recorded.verdict == ending(1).verdict
    assert (recorded.phase, recorded.steps, recorded.revisions) == (EpisodePhase.JUDGED, 3, {"crm": 1})
    assert await ledger.trajectory(recorded.id) == ending(1).steps
    assert await ledger.diff(recorded.id) == ending(1).diff


async def test_the_first_ending_stands(ledger: Ledger) -> None:
    await ledger.begin(beginning(1))

    assert await ledger.end(ending(1))
    assert not await ledger.end(ending(1, "unscored", "abandoned"))

    recorded = await ledger.read_episode(beginning(1).id)
    assert recorded is not None
    assert recorded.verdict == ending(1).verdict


async def test_the_exact_reward_is_kept_beside_the_float(ledger: Ledger, url: str) -> None:
    await ledger.begin(beginning(1))
    await ledger.end(ending(1))

    engine = create_engine(url)
    with engine.connect() as connection:
        row = connection.execute(sa.select(tables.verdicts.c.exact, tables.verdicts.c.reward)).one()
    engine.dispose()

    assert tuple(row) == ("1/3", 1 / 3)


async def test_an_unknown_episode_is_nothing(ledger: Ledger) -> None:
    assert await ledger.read_episode("0" * 24) is None
    assert await ledger.trajectory("0" * 24) is None
    assert not await ledger.end(ending(9))


async def test_the_report_tells_our_failures_from_people_who_left(ledger: Ledger) -> None:
    for number in range(6):
        await ledger.begin(beginning(number))
    await ledger.end(ending(0))
    await ledger.end(ending(1, "failed"))
    await ledger.end(ending(2, "unscored", "crm process died", ours=True))
    await ledger.end(ending(3, "unscored", "abandoned"))
    await ledger.end(ending(4, "unscored", "free play"))

    report = await ledger.report(None)

    assert report.outcomes == {"failed": 1, "passed": 1, "unscored": 3}
    assert report.causes == {"abandoned": 1, "crm process died": 1, "free play": 1}
    assert (report.episodes, report.open) == (6, 1)
    assert report.failure_rate == pytest.approx(1 / 3)
    assert report.faults_injected == {"delay": 5}


async def test_the_report_starts_where_it_is_asked_to(ledger: Ledger) -> None:
    await ledger.begin(beginning(0))

    later = await ledger.report(datetime(2200, 1, 1, tzinfo=UTC))

    assert (later.episodes, later.outcomes, later.failure_rate) == (0, {}, 0.0)


async def test_open_episodes_are_found_again(ledger: Ledger) -> None:
    for number in range(3):
        await ledger.begin(beginning(number))
    await ledger.end(ending(1))

    assert sorted(await ledger.list_open()) == [(beginning(number).id, beginning(number).clock) for number in (0, 2)]


async def test_a_judged_episode_can_be_closed(ledger: Ledger) -> None:
    await ledger.begin(beginning(0))
    await ledger.end(ending(0))

    await ledger.close_judged(beginning(0).id)

    recorded = await ledger.read_episode(beginning(0).id)
    assert recorded is not None
    assert recorded.phase is EpisodePhase.CLOSED


async def test_events_are_kept(ledger: Ledger, url: str) -> None:
    await ledger.record_event("product gone", "crm process died\x00", product="crm")

    engine = create_engine(url)
    with engine.connect() as connection:
        kept = connection.execute(sa.select(tables.events.c.kind, tables.events.c.product)).all()
    engine.dispose()

    assert [tuple(row) for row in kept] == [("product gone", "crm")]


async def test_the_migrations_lead_to_the_tables_that_the_code_knows(ledger: Ledger, url: str) -> None:
    engine = create_engine(url)
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), tables.ledger)
    engine.dispose()

    assert differences == []


async def test_processes_that_start_at_once_do_not_trip_over_each_other(url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    starting = [spawn.Process(target=_migrate, args=(url,)) for _ in range(3)]
    for process in starting:
        process.start()
    for process in starting:
        process.join(60)

    assert [process.exitcode for process in starting] == [0, 0, 0]


async def test_a_database_that_is_away_is_a_ledger_that_is_down() -> None:
    ledger = Ledger("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    try:
        with pytest.raises(LedgerDown):
            await ledger.start(patience_seconds=0)
        with pytest.raises(LedgerDown):
            await ledger.begin(beginning(0))
        assert not await ledger.alive()
    finally:
        await ledger.stop()


def _migrate(url: str) -> None:
    engine = create_engine(url)
    migrate(engine)
    engine.dispose()
