"""Rollouts: plays many episodes concurrently and yields their trajectories as they finish."""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypedDict

from dayshift.answer_text import MAX_ANSWER_CHARS
from dayshift.calls import SUBMIT, Action, Call
from dayshift.connection import AsyncConnection
from dayshift.episode import AsyncEpisode
from dayshift.errors import ControlRefused, EpisodeOver, HarnessFault, RetryLater, UsageError
from dayshift.intervention import Supervisor
from dayshift.open_request import open_request
from dayshift.operations import Catalogue
from dayshift.progress import Progress
from dayshift.recorder import EpisodeRecorder
from dayshift.step import Step
from dayshift.tool_surface import Surface
from dayshift.trajectory import Blame, Cost, Manifest, Quarantine, Trajectory, group_id, versions
from dayshift.wire import MenuItem, OpenRequest, Split

_OPEN_ATTEMPTS = 20
# 256 episodes are faster over 64 connections than over 256.
_MAX_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """Everything that a policy knows when it chooses its next call."""

    brief: str
    clock: str
    steps_left: int | None
    history: Sequence[Step]
    operations: Catalogue
    menu: Sequence[MenuItem]
    seed: int
    task: str | None
    # The tools that a model is given, where `rollouts` was told a surface.
    surface: Surface | None = None

    @property
    def last(self) -> Step | None:
        return self.history[-1] if self.history else None


@dataclass(frozen=True, slots=True)
class Group:
    """All attempts at one instance, complete: what an advantage is computed over."""

    id: str
    trajectories: tuple[Trajectory, ...]

    @property
    def scored(self) -> tuple[Trajectory, ...]:
        """The attempts with a reward; a baseline is computed over these alone."""
        return tuple(trajectory for trajectory in self.trajectories if trajectory.scored)

    @property
    def unscored(self) -> tuple[Trajectory, ...]:
        return tuple(trajectory for trajectory in self.trajectories if not trajectory.scored)


Policy = Callable[[PolicyInput], Action | Awaitable[Action]]


def tasks(
    *families: str, seeds: Iterable[int], split: Split = "train", world: str = "standard", faults: str = "none"
) -> Iterator[OpenRequest]:
    """Yields a request for every family with every seed."""
    for seed in seeds:
        for family in families:
            yield open_request(task=family, seed=seed, split=split, world=world, faults=faults)


async def rollouts(
    policy: Policy,
    tasks: Iterable[OpenRequest],
    *,
    concurrency: int = 32,
    version: str | Callable[[], str] | None = None,
    recorder: EpisodeRecorder | None = None,
    connection: AsyncConnection | None = None,
    progress: bool | None = None,
    retries: int = 0,
    surface: str | None = None,
    max_answer_chars: int = MAX_ANSWER_CHARS,
    group_size: int = 1,
    max_steps: int | None = None,
    supervisor: Supervisor | None = None,
) -> AsyncGenerator[Trajectory, None]:
    """Yields trajectories in the order in which they finish; every task is attempted `group_size` times.

    An episode that fails is yielded too, quarantined and without a reward, and the others go on; only a wrong token
    ends all. `version` (or `policy.version`) is read at every step, because a policy may change while episodes run.
    """
    session = connection or AsyncConnection(connections=min(concurrency, _MAX_CONNECTIONS))
    options: _OpenOptions = {
        "retries": retries,
        "surface": surface,
        "max_answer_chars": max_answer_chars,
        "max_steps": max_steps,
        "supervisor": supervisor,
    }
    attempts = _number_attempts(tasks, group_size)
    pool = _WorkerPool(policy, attempts, session, version, options, fetches_diffs=recorder is not None)
    workers = [asyncio.create_task(pool.work()) for _ in range(concurrency)]
    total = _count(tasks)
    progress_bar = Progress(None if total is None else total * group_size, enabled=progress)
    try:
        while (trajectory := await pool.next_finished(workers)) is not None:
            if recorder is not None:
                recorder.record(trajectory)
            progress_bar.count(trajectory)
            yield trajectory
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        progress_bar.close()
        if connection is None:
            await session.close()


class _OpenOptions(TypedDict):
    """How every episode of a rollout is opened."""

    retries: int
    surface: str | None
    max_answer_chars: int
    max_steps: int | None
    supervisor: Supervisor | None


async def group_rollouts(
    policy: Policy,
    tasks: Iterable[OpenRequest],
    *,
    group_size: int,
    concurrency: int = 32,
    version: str | Callable[[], str] | None = None,
    recorder: EpisodeRecorder | None = None,
    connection: AsyncConnection | None = None,
    progress: bool | None = None,
    retries: int = 0,
    surface: str | None = None,
    max_answer_chars: int = MAX_ANSWER_CHARS,
    max_steps: int | None = None,
    supervisor: Supervisor | None = None,
) -> AsyncGenerator[Group, None]:
    """Yields whole groups of attempts at one instance, in the order in which they are complete.

    A group names its unscored members, so that a baseline can leave them out.
    """
    open_groups: dict[tuple[str, int], list[Trajectory]] = {}
    played = rollouts(
        policy,
        tasks,
        concurrency=concurrency,
        version=version,
        recorder=recorder,
        connection=connection,
        progress=progress,
        retries=retries,
        surface=surface,
        max_answer_chars=max_answer_chars,
        group_size=group_size,
        max_steps=max_steps,
        supervisor=supervisor,
    )
    # Closed with this one, and not when the garbage collector comes by.
    async with aclosing(played) as trajectories:
        async for trajectory in trajectories:
            # An instance that comes again makes another group, though both may be played at the same time.
            key = trajectory.group or "", (trajectory.attempt or 0) // group_size
            members = open_groups.setdefault(key, [])
            members.append(trajectory)
            if len(members) == group_size:
                group = open_groups.pop(key)
                yield Group(key[0], tuple(sorted(group, key=lambda member: member.attempt or 0)))


class _WorkerPool:
    """Workers that take tasks from one iterator and put finished trajectories into one queue."""

    def __init__(
        self,
        policy: Policy,
        attempts: Iterator[tuple[OpenRequest, int]],
        connection: AsyncConnection,
        version: str | Callable[[], str] | None,
        options: _OpenOptions,
        *,
        fetches_diffs: bool = False,
    ) -> None:
        self._policy = policy
        self._attempts = attempts
        self._connection = connection
        self._version = version
        self._options = options
        # A recording shows what each step changed; a trainer that records nothing does not pay for it.
        self._fetches_diffs = fetches_diffs
        self._finished: asyncio.Queue[Trajectory | None] = asyncio.Queue()

    async def work(self) -> None:
        try:
            for request, number in self._attempts:
                trajectory = await self._play(request)
                numbered = trajectory.model_copy(update={"group": group_id(request), "attempt": number})
                await self._finished.put(numbered)
        finally:
            # A None tells the reader that this worker has ended.
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
        version = self._current_version()
        try:
            episode = await self._open(request, version)
        except (HarnessFault, ControlRefused) as error:
            if isinstance(error, ControlRefused) and error.status == 401:
                raise
            return record_unopened(request, explain_unopened(error), self._name, version)
        async with episode:
            return await self._finish(episode, version)

    async def _open(self, request: OpenRequest, version: str | None) -> AsyncEpisode:
        for _ in range(_OPEN_ATTEMPTS):
            try:
                return await self._open_once(request, version)
            except RetryLater as error:
                await asyncio.sleep(error.problem.retry_after or 1)
        return await self._open_once(request, version)

    async def _open_once(self, request: OpenRequest, version: str | None) -> AsyncEpisode:
        return await AsyncEpisode.open(
            request, connection=self._connection, policy=self._name, policy_version=version, **self._options
        )

    async def _finish(self, episode: AsyncEpisode, version: str | None) -> Trajectory:
        step_versions: list[str | None] = []
        quarantine = None
        try:
            while not episode.over:
                step_versions.append(self._current_version())
                await self._step(episode)
        except HarnessFault:
            pass  # the protocol keeps its fault, and the trajectory holds it
        except Exception as error:  # noqa: BLE001 - a bug of a policy ends its session episode only
            quarantine = Quarantine(blame="policy", kind=type(error).__name__, because=str(error))
        step_versions = step_versions[: len(episode.steps)]
        if self._fetches_diffs:
            await episode.fetch_diff()
        return Trajectory.of(
            episode.protocol, version, policy=self._name, quarantine=quarantine, step_versions=step_versions
        )

    async def _step(self, episode: AsyncEpisode) -> None:
        if episode.steps_left == 0:
            await episode.submit()
            return
        choice = self._policy(_build_policy_input(episode))
        action = await choice if inspect.isawaitable(choice) else choice
        try:
            await episode.act(action)
        except EpisodeOver:
            if not episode.over:
                raise

    def _current_version(self) -> str | None:
        if callable(self._version):
            return self._version()
        version = self._version if self._version is not None else getattr(self._policy, "version", None)
        return None if version is None else str(version)

    @property
    def _name(self) -> str:
        return str(getattr(self._policy, "name", getattr(self._policy, "__name__", type(self._policy).__name__)))


def _number_attempts(tasks: Iterable[OpenRequest], group_size: int) -> Iterator[tuple[OpenRequest, int]]:
    """Numbers the attempts at each instance, which may come several times, as in a second pass over all tasks."""
    passes: Counter[str] = Counter()
    for request in tasks:
        first = passes[group_id(request)] * group_size
        passes[group_id(request)] += 1
        yield from ((request, number) for number in range(first, first + group_size))


def do_nothing(_situation: PolicyInput) -> Call:
    """Submits at once: the baseline that every other policy must beat."""
    return Call(SUBMIT)


def explain_unopened(error: HarnessFault | UsageError) -> Quarantine:
    """Returns why an episode could not be opened."""
    blame: Blame = "harness" if isinstance(error, HarnessFault) else "caller"
    return Quarantine(blame=blame, kind=type(error).__name__, because=str(error))


def record_unopened(
    request: OpenRequest, quarantine: Quarantine, policy: str | None, version: str | None
) -> Trajectory:
    """Returns the trajectory of an episode that could not be opened."""
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
        quarantine=quarantine,
        cost=cost,
        policy=policy,
        policy_version=version,
    )


def _build_policy_input(episode: AsyncEpisode) -> PolicyInput:
    protocol = episode.protocol
    return PolicyInput(
        brief=episode.brief,
        clock=episode.clock,
        steps_left=episode.steps_left,
        history=episode.steps,
        operations=episode.operations,
        menu=protocol.opened.menu or (),
        seed=protocol.request.seed,
        task=protocol.request.task,
        surface=protocol.surface,
    )


def _count(tasks: Iterable[OpenRequest]) -> int | None:
    return len(tasks) if isinstance(tasks, Sequence) else None
