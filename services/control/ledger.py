"""The ledger: the durable record, on a thread of its own."""

import asyncio
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, TypeVar

import orjson
import sqlalchemy as sa
from dayshift.wire import AuditEvent, EpisodePhase, Report, Verdict
from sqlalchemy.engine import Connection

from services.control.database import create_engine, migrate
from services.control.effort import EpisodeStep
from services.control.problems import LedgerDown
from services.control.tables import episodes, events, faults, reviews, trajectories, verdicts
from services.kernel.harness_replies import ChangeReply

Result = TypeVar("Result")
# Ours and not the database's; a retry would not help.
_BUGS = (sa.exc.IntegrityError, sa.exc.ProgrammingError, sa.exc.DataError)


def wall_ms() -> int:
    """The ledger records when things really happened; nothing an agent meets depends on it."""
    return int(datetime.now(UTC).timestamp() * 1000)  # noqa: TID251 - as said


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is written when an episode opens."""

    id: str
    task: str | None
    seed: int
    split: str
    world: str
    faults: str
    products: tuple[str, ...]
    fingerprint: str
    brief: str
    clock: str
    # Who plays, where the trainer says so.
    policy: str | None = None
    policy_version: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """What is written when an episode ends: the verdict and all that explains it."""

    id: str
    phase: EpisodePhase
    verdict: Verdict
    exact: Fraction | None = None
    # Whether a failure of ours took part in the ending.
    ours: bool = False
    steps: list[EpisodeStep] = field(default_factory=list)
    diff: dict[str, list[ChangeReply]] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    # The time before each wait and how long it was, in milliseconds.
    waits: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """An episode as the ledger has recorded it."""

    id: str
    task: str | None
    phase: EpisodePhase
    steps: int
    clock: str
    revisions: dict[str, int]
    verdict: Verdict | None


class Ledger:
    """One engine and one worker thread: a request of control takes one hop, and writes never lock each other out."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")

    async def start(self, patience_seconds: float = 30.0) -> None:
        """Bring the schema up to date; a database that starts at the same time gets some seconds to do so."""
        deadline = time.monotonic() + patience_seconds
        while True:
            try:
                await self._run_in_thread(lambda: migrate(self._engine))
                return
            except sa.exc.OperationalError as error:
                if time.monotonic() > deadline:
                    raise LedgerDown(f"the ledger does not answer: {_first_line(error)}") from error
            await asyncio.sleep(0.5)

    async def begin(self, beginning: Beginning) -> None:
        row = {
            "id": beginning.id,
            "task": beginning.task,
            "seed": beginning.seed,
            "split": beginning.split,
            "world": beginning.world,
            "faults": beginning.faults,
            "products": ",".join(beginning.products),
            "fingerprint": beginning.fingerprint,
            "brief": _replace_nul(beginning.brief),
            "phase": EpisodePhase.OPEN.value,
            "steps": 0,
            "clock": beginning.clock,
            "revisions": "{}",
            "opened_at": wall_ms(),
            "policy": beginning.policy and _replace_nul(beginning.policy),
            "policy_version": beginning.policy_version and _replace_nul(beginning.policy_version),
        }
        await self._transaction(lambda connection: connection.execute(_BEGIN, row))

    async def end(self, ending: Ending) -> bool:
        """Write the ending; False if another was written before: the first one stands."""
        return await self._transaction(lambda connection: _end(connection, ending))

    async def close_judged(self, episode_id: str) -> None:
        statement = sa.update(episodes).where(episodes.c.id == episode_id).values(phase=EpisodePhase.CLOSED.value)
        await self._transaction(lambda connection: connection.execute(statement))

    async def read_episode(self, episode_id: str) -> EpisodeRecord | None:
        return await self._transaction(lambda connection: _read_episode(connection, episode_id))

    async def trajectory(self, episode_id: str) -> list[EpisodeStep] | None:
        steps: list[EpisodeStep] | None = await self._document(trajectories.c.steps, episode_id)
        return steps

    async def diff(self, episode_id: str) -> dict[str, list[ChangeReply]] | None:
        diff: dict[str, list[ChangeReply]] | None = await self._document(trajectories.c.diff, episode_id)
        return diff

    async def list_open(self) -> list[tuple[str, str]]:
        statement = sa.select(episodes.c.id, episodes.c.clock).where(episodes.c.phase == EpisodePhase.OPEN.value)
        return await self._transaction(
            lambda connection: [(row.id, row.clock) for row in connection.execute(statement)]
        )

    async def record_event(
        self,
        kind: str,
        because: str,
        episode_id: str | None = None,
        product: str | None = None,
        person: str | None = None,
    ) -> None:
        row = {
            "at": wall_ms(),
            "kind": kind,
            "episode_id": episode_id,
            "product": product,
            "because": _replace_nul(because),
            "person": None if person is None else _replace_nul(person),
        }
        await self._transaction(lambda connection: connection.execute(sa.insert(events), row))

    async def list_events(self, episode_id: str | None, limit: int) -> list[AuditEvent]:
        """The last events, the latest first: of one episode, or of all."""
        statement = sa.select(events).order_by(events.c.id.desc()).limit(limit)
        if episode_id is not None:
            statement = statement.where(events.c.episode_id == episode_id)
        return await self._transaction(lambda connection: [_audit_event(row) for row in connection.execute(statement)])

    async def list_reviews(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Numbers and bodies of the reviews that were saved after one number, in the order of saving."""
        statement = sa.select(reviews.c.id, reviews.c.body).where(reviews.c.id > after).order_by(reviews.c.id)
        return await self._transaction(
            lambda connection: [(row.id, row.body) for row in connection.execute(statement.limit(limit))]
        )

    async def report(self, since: datetime | None) -> Report:
        return await self._transaction(lambda connection: _report(connection, since))

    async def alive(self) -> bool:
        try:
            await self._transaction(lambda connection: connection.execute(sa.text("SELECT 1")))
        except LedgerDown:
            return False
        return True

    async def stop(self) -> None:
        await self._run_in_thread(self._engine.dispose)
        self._thread.shutdown(wait=False)

    async def _document(self, column: sa.Column[bytes], episode_id: str) -> Any:
        statement = sa.select(column).where(trajectories.c.episode_id == episode_id)
        packed = await self._transaction(lambda connection: connection.execute(statement).scalar())
        return None if packed is None else _unpack(packed)

    async def _transaction(self, work: Callable[[Connection], Result]) -> Result:
        def transact() -> Result:
            with self._engine.begin() as connection:
                return work(connection)

        try:
            return await self._run_in_thread(transact)
        except _BUGS:
            raise
        except sa.exc.DBAPIError as error:
            raise LedgerDown(f"the ledger does not answer: {_first_line(error)}") from error

    async def _run_in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


_BEGIN, _JUDGE, _KEEP, _STRIKE = map(sa.insert, (episodes, verdicts, trajectories, faults))
_FAULT_KEYS = ("product", "kind", "operation")


# Built once: building it costs more than running it.
_CLOSING = (
    sa.update(episodes)
    .where(episodes.c.id == sa.bindparam("ended"), episodes.c.phase == EpisodePhase.OPEN.value)
    .values({name: sa.bindparam(f"to_{name}") for name in ("phase", "steps", "clock", "revisions", "ended_at")})
)


def _end(connection: Connection, ending: Ending) -> bool:
    verdict = ending.verdict
    closing = {
        "ended": ending.id,
        "to_phase": ending.phase.value,
        "to_steps": verdict.steps,
        "to_clock": verdict.clock,
        "to_revisions": orjson.dumps(ending.revisions).decode(),
        "to_ended_at": wall_ms(),
    }
    if connection.execute(_CLOSING, closing).rowcount != 1:
        return False
    connection.execute(
        _JUDGE,
        {
            "episode_id": ending.id,
            "outcome": verdict.outcome,
            "reward": verdict.reward,
            "exact": None if ending.exact is None else str(ending.exact),
            "because": None if verdict.because is None else _replace_nul(verdict.because),
            "ours": ending.ours,
            "body": _pack(verdict.model_dump()),
        },
    )
    connection.execute(
        _KEEP,
        {
            "episode_id": ending.id,
            "steps": _pack(ending.steps),
            "diff": _pack(ending.diff),
            "waits": orjson.dumps(ending.waits).decode(),
        },
    )
    struck = [{"episode_id": ending.id, **fault.model_dump(include=set(_FAULT_KEYS))} for fault in verdict.faults]
    if struck:
        connection.execute(_STRIKE, struck)
    return True


def _read_episode(connection: Connection, episode_id: str) -> EpisodeRecord | None:
    joined = sa.outerjoin(episodes, verdicts, episodes.c.id == verdicts.c.episode_id)
    statement = sa.select(episodes, verdicts.c.body).select_from(joined).where(episodes.c.id == episode_id)
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return EpisodeRecord(
        id=row.id,
        task=row.task,
        phase=EpisodePhase(row.phase),
        steps=row.steps,
        clock=row.clock,
        revisions=orjson.loads(row.revisions),
        verdict=None if row.body is None else Verdict.model_validate(_unpack(row.body)),
    )


def _audit_event(row: Any) -> AuditEvent:
    return AuditEvent(
        at=datetime.fromtimestamp(row.at / 1000, UTC).isoformat(timespec="milliseconds"),
        kind=row.kind,
        episode_id=row.episode_id,
        product=row.product,
        person=row.person,
        because=row.because,
    )


def _report(connection: Connection, since: datetime | None) -> Report:
    after = 0 if since is None else int(since.timestamp() * 1000)
    recent = episodes.c.opened_at >= after
    ended = sa.join(verdicts, episodes, episodes.c.id == verdicts.c.episode_id)
    outcomes = _count_by(connection, verdicts.c.outcome, ended, recent)
    unscored = verdicts.c.outcome == "unscored"
    causes = _count_by(connection, verdicts.c.because, ended, sa.and_(recent, sa.or_(unscored, verdicts.c.ours)))
    ours = _total(connection, ended, sa.and_(recent, verdicts.c.ours))
    judged = _total(connection, ended, sa.and_(recent, sa.or_(~unscored, verdicts.c.ours)))
    struck = sa.join(faults, episodes, episodes.c.id == faults.c.episode_id)
    return Report(
        since=None if since is None else since.isoformat(),
        episodes=_total(connection, episodes, recent),
        outcomes=outcomes,
        open=_total(connection, episodes, sa.and_(recent, episodes.c.phase == EpisodePhase.OPEN.value)),
        failure_rate=ours / judged if judged else 0.0,
        causes=causes,
        faults_injected=_count_by(connection, faults.c.kind, struck, recent),
    )


def _count_by(
    connection: Connection, column: sa.Column[Any], source: sa.FromClause, where: sa.ColumnElement[bool]
) -> dict[str, int]:
    statement = sa.select(column, sa.func.count()).select_from(source).where(where).group_by(column).order_by(column)
    return {str(value): count for value, count in connection.execute(statement)}


def _total(connection: Connection, source: sa.FromClause, where: sa.ColumnElement[bool]) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(source).where(where)).scalar_one()


def _pack(document: Any) -> bytes:
    return zlib.compress(orjson.dumps(document), 1)


def _unpack(packed: bytes) -> Any:
    return orjson.loads(zlib.decompress(packed))


def _replace_nul(text: str) -> str:
    """PostgreSQL keeps no NUL in a text."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _first_line(error: sa.exc.DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]
