"""rollouts: many episodes at once, yielded as they finish."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dayshift.calls import SUBMIT, Call
from dayshift.connection import AsyncConnection
from dayshift.episode import AsyncEpisode
from dayshift.errors import ControlRefused, EpisodeOver, HarnessFault, NotNow
from dayshift.exchange import Exchange
from dayshift.operations import Catalogue
from dayshift.progress import Progress
from dayshift.recorder import Recorder
from dayshift.trajectory import Blame, Cost, Manifest, Quarantine, Trajectory, versions
from dayshift.wire import MenuItem, OpenRequest, Split

_OPENING_PATIENCE = 20
# More of them do not make the stack answer faster: 256 episodes were quicker over 64 connections than over 256.
_MOST_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a policy may know when it must choose its next call."""

    brief: str
    clock: str
    steps_left: int | None
    history: Sequence[Exchange]
    operations: Catalogue
    menu: Sequence[MenuItem]
    seed: int
    task: str | None

    @property
    def last(self) -> Exchange | None:
        return self.history[-1] if self.history else None


Action = Call | dict[str, Any]
Policy = Callable[[Situation], Action | Awaitable[Action]]


def tasks(
    *families: str, seeds: Iterable[int], split: Split = "train", world: str = "standard", faults: str = "none"
) -> Iterator[OpenRequest]:
    """Every family with every seed."""
    for seed in seeds:
        for family in families:
            yield OpenRequest(task=family, seed=seed, split=split, world=world, faults=faults)


async def rollouts(
    policy: Policy,
    tasks: Iterable[OpenRequest],
    *,
    concurrency: int = 32,
    version: str | Callable[[], str] | None = None,
    recorder: Recorder | None = None,
    connection: AsyncConnection | None = None,
    progress: bool | None = None,
    retries: int = 0,
) -> AsyncIterator[Trajectory]:
    """Finished trajectories in the order in which they finish.

    A failed episode is yielded too, quarantined and without a reward; the others go on. Only a wrong token ends all.
    `version` (or `policy.version`) is asked at every step: a policy may be replaced while episodes run.
    """
    wired = connection or AsyncConnection(connections=min(concurrency, _MOST_CONNECTIONS))
    crew = _Crew(policy, iter(tasks), wired, version, retries)
    workers = [asyncio.create_task(crew.work()) for _ in range(concurrency)]
    shown = Progress(_length(tasks), enabled=progress)
    try:
        while (trajectory := await crew.next_finished(workers)) is not None:
            if recorder is not None:
                recorder.record(trajectory)
            shown.count(trajectory)
            yield trajectory
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        shown.close()
        if connection is None:
            await wired.close()


class _Crew:
    """Workers that share a list of tasks and put what they finish on one table."""

    def __init__(
        self,
        policy: Policy,
        tasks: Iterator[OpenRequest],
        connection: AsyncConnection,
        version: str | Callable[[], str] | None,
        retries: int,
    ) -> None:
        self._policy = policy
        self._tasks = tasks
        self._connection = connection
        self._version = version
        self._retries = retries
        self._finished: asyncio.Queue[Trajectory | None] = asyncio.Queue()

    async def work(self) -> None:
        try:
            for request in self._tasks:
                await self._finished.put(await self._play(request))
        finally:
            # One `None` per worker tells the reader that nothing more will come from it.
            self._finished.put_nowait(None)

    async def next_finished(self, workers: list["asyncio.Task[None]"]) -> Trajectory | None:
        while not (all(worker.done() for worker in workers) and self._finished.empty()):
            if (trajectory := await self._finished.get()) is not None:
                return trajectory
            await asyncio.sleep(0)
            for worker in workers:
                if worker.done():
                    worker.result()
        return None

    async def _play(self, request: OpenRequest) -> Trajectory:
        first = self._current_version()
        try:
            episode = await self._open(request)
        except (HarnessFault, ControlRefused) as error:
            if isinstance(error, ControlRefused) and error.status == 401:
                raise
            return unopened(request, error, self._name, first)
        async with episode:
            return await self._played(episode, first)

    async def _open(self, request: OpenRequest) -> AsyncEpisode:
        for _ in range(_OPENING_PATIENCE):
            try:
                return await AsyncEpisode.open(request, connection=self._connection, retries=self._retries)
            except NotNow as later:
                await asyncio.sleep(later.problem.retry_after or 1)
        return await AsyncEpisode.open(request, connection=self._connection, retries=self._retries)

    async def _played(self, episode: AsyncEpisode, first: str | None) -> Trajectory:
        stamps: list[str | None] = []
        quarantine = None
        try:
            while not episode.over:
                stamps.append(self._current_version())
                await self._turn(episode)
        except HarnessFault:
            pass  # the dialogue keeps its fault, and the trajectory tells it
        except Exception as error:  # noqa: BLE001 - whatever the policy raises ends its own episode alone
            quarantine = Quarantine(blame="policy", kind=type(error).__name__, because=str(error))
        made = stamps[: len(episode.exchanges)]
        return Trajectory.of(episode.dialogue, first, policy=self._name, quarantine=quarantine, step_versions=made)

    async def _turn(self, episode: AsyncEpisode) -> None:
        if episode.steps_left == 0:
            await episode.submit()
            return
        chosen = self._policy(_situation(episode))
        action = await chosen if inspect.isawaitable(chosen) else chosen
        try:
            await episode.act(action)
        except EpisodeOver:
            if not episode.over:
                raise

    def _current_version(self) -> str | None:
        if callable(self._version):
            return self._version()
        named = self._version if self._version is not None else getattr(self._policy, "version", None)
        return None if named is None else str(named)

    @property
    def _name(self) -> str:
        return str(getattr(self._policy, "name", getattr(self._policy, "__name__", type(self._policy).__name__)))


def do_nothing(_situation: Situation) -> Call:
    """The policy that every other must beat."""
    return Call(SUBMIT)


def unopened(
    request: OpenRequest, error: HarnessFault | ControlRefused, policy: str | None, version: str | None
) -> Trajectory:
    """The record of an episode that could not even be opened."""
    blame: Blame = "harness" if isinstance(error, HarnessFault) else "caller"
    manifest = Manifest(
        episode_id="",
        open=request,
        brief="",
        budget=None,
        products=[],
        fingerprint="",
        clock="",
        action_space="",
        versions=versions(),
    )
    cost = Cost(calls=0, request_bytes=0, answer_bytes=0, tokens_estimated=0, wall_seconds=0.0, virtual_seconds=0.0)
    return Trajectory(
        manifest=manifest,
        steps=[],
        verdict=None,
        quarantine=Quarantine(blame=blame, kind=type(error).__name__, because=str(error)),
        cost=cost,
        policy=policy,
        policy_version=version,
    )


def _situation(episode: AsyncEpisode) -> Situation:
    dialogue = episode.dialogue
    return Situation(
        brief=episode.brief,
        clock=episode.clock,
        steps_left=episode.steps_left,
        history=episode.exchanges,
        operations=episode.operations,
        menu=dialogue.opened.menu or (),
        seed=dialogue.request.seed,
        task=dialogue.request.task,
    )


def _length(tasks: Iterable[OpenRequest]) -> int | None:
    return len(tasks) if isinstance(tasks, Sequence) else None
