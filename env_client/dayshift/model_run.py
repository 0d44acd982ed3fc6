"""Evaluates a model over tasks: plays every attempt that is missing, records it, and can be resumed after a crash."""

import asyncio
import json
import traceback
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dayshift import job_description
from dayshift.agent_session import Agent, AgentSession, load_agent, run_agent
from dayshift.argument_types import MAX_SEED
from dayshift.connection import Address, AsyncConnection
from dayshift.episode import AsyncEpisode
from dayshift.errors import HarnessFault, RetryLater, TokenRefused, UsageError
from dayshift.model_episode import ModelEpisode, Prices
from dayshift.models import Model, ModelUnavailable, ProviderFailure, Sampling, create_model
from dayshift.recorder import QUARANTINED, SCORED, Recorder
from dayshift.recordings import load
from dayshift.rollout import explain_unopened, record_unopened
from dayshift.trajectory import CLIENT_BUG, Quarantine, Trajectory, group_id
from dayshift.version import VERSION
from dayshift.wire import OpenRequest, Split

RUN_FILE = "run.json"
PYTHON_AGENT = "python:"
_OPEN_ATTEMPTS = 20
_MAX_CONNECTIONS = 64
# So many attempts in a row without one reply or step, and at least as many as are played at once, say that the provider
# or the stack is down or not there; the others would only wait for it, too.
_FEWEST_FAILURES_OF_AN_OUTAGE = 8


class Outage(UsageError):
    """One attempt after the other came to nothing, so the run stops; it can be resumed."""


@dataclass(frozen=True)
class RunOptions:
    """What defines the results of a run; a run is resumed with the same options only."""

    model: str
    tasks: tuple[str, ...]
    seeds: int = 20
    first_seed: int = 0
    rollouts: int = 1
    surface: str = "core"
    split: Split = "train"
    world: str = "standard"
    faults: str = "none"
    sampling: Sampling = field(default_factory=Sampling)
    max_context_tokens: int = 100_000
    max_answer_chars: int = 16_000
    # A name for these weights, which the recordings hold; a trainer names its checkpoints so.
    policy_version: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            **json.loads(json.dumps(asdict(self))),
            "dayshift": VERSION,
            "system_prompt": job_description.VERSION,
        }


@dataclass(frozen=True)
class RunLimits:
    """What makes a run faster or more patient, and does not define its results."""

    concurrency: int = 16
    control_url: str | None = None
    base_url: str | None = None
    timeout_seconds: float = 300.0
    provider_retries: int = 6
    prices: Prices | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at an instance; all attempts at it form a group."""

    request: OpenRequest
    number: int

    @property
    def group(self) -> str:
        return group_id(self.request)

    @property
    def key(self) -> tuple[str, int]:
        return self.group, self.number


def prepare_folder(folder: Path, options: RunOptions, *, resume: bool) -> set[tuple[str, int]]:
    """Writes or compares the run's options, and returns the attempts that already have a verdict."""
    file = folder / RUN_FILE
    has_recordings = any((folder / name).exists() for name in (SCORED, QUARANTINED))
    if has_recordings and not file.exists():
        raise UsageError(f"{folder} holds recordings that are not of a run: name another --output")
    if not has_recordings:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(options.as_json(), indent=2) + "\n")
        return set()
    _require_same(json.loads(file.read_text()), options, folder)
    if not resume:
        raise UsageError(f"{folder} holds a run already: add --resume to go on with it, or name another --output")
    return {
        (trajectory.group, trajectory.attempt)
        for trajectory in load(folder)
        if trajectory.group is not None and trajectory.attempt is not None
    }


def _require_same(earlier: dict[str, Any], options: RunOptions, folder: Path) -> None:
    current = options.as_json()
    changed = [name for name in current if current[name] != earlier.get(name)]
    if changed:
        differences = ", ".join(f"{name} was {earlier.get(name)!r} and is {current[name]!r}" for name in changed)
        raise UsageError(f"{folder} holds a run with other options ({differences}): name another --output")


def select_families(patterns: Sequence[str], available: Sequence[str], elsewhere: Sequence[str] = ()) -> list[str]:
    """Returns the families that the patterns name (`crm/*`), and refuses a pattern that names none.

    `elsewhere` are those that have other splits alone.
    """
    for pattern in patterns:
        if any(fnmatchcase(family, pattern) for family in available):
            continue
        if held_out := [family for family in elsewhere if fnmatchcase(family, pattern)]:
            raise UsageError(f"{', '.join(held_out)}: not in this split; `dayshift tasks` lists the splits of each")
        raise UsageError(f"no task is called {pattern!r}; `dayshift tasks` lists them")
    return [family for family in available if any(fnmatchcase(family, pattern) for pattern in patterns)]


def list_attempts(options: RunOptions, families: Sequence[str]) -> list[Attempt]:
    """All attempts of a run; groups come one after the other, so that a run that ends early holds whole groups."""
    if options.first_seed + options.seeds > MAX_SEED:
        raise UsageError(f"{options.seeds} seeds from {options.first_seed} on: a seed must be less than 2**63")
    return [
        Attempt(
            OpenRequest(task=family, seed=seed, split=options.split, world=options.world, faults=options.faults), number
        )
        for seed in range(options.first_seed, options.first_seed + options.seeds)
        for family in families
        for number in range(options.rollouts)
    ]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is going to play, and how many attempts were finished before."""

    families: list[str]
    attempts: list[Attempt]
    finished: int


async def play_run(
    options: RunOptions,
    limits: RunLimits,
    folder: Path,
    *,
    resume: bool = False,
    announce: Callable[[Plan], None] = lambda _plan: None,
) -> AsyncGenerator[Trajectory, None]:
    """Plays the attempts that have no verdict yet, records each, and yields them as they finish."""
    player = _create_player(options, limits)
    address = Address.find(limits.control_url)
    connection = AsyncConnection(address, connections=min(limits.concurrency, _MAX_CONNECTIONS))
    try:
        plan = await _make_plan(options, folder, connection, resume=resume)
        announce(plan)
        outage = _OutageWatch(max(limits.concurrency, _FEWEST_FAILURES_OF_AN_OUTAGE))
        # Closed before the connection is: attempts that are cut close their episodes over it.
        async with aclosing(_play_all(player, plan.attempts, connection, limits.concurrency)) as played:
            opened = played if plan.finished else _require_opened(played, len(plan.families) * options.rollouts)
            with Recorder(folder) as recorder:
                async for trajectory in opened:
                    recorder.record(trajectory)
                    yield trajectory
                    outage.watch(trajectory)
    finally:
        await player.close()
        await connection.close()


class _OutageWatch:
    """Counts attempts in a row in which nothing happened, and ends a run in which nothing does."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_a_row = 0

    def watch(self, trajectory: Trajectory) -> None:
        quarantine, model = trajectory.quarantine, trajectory.model
        has_begun = bool(trajectory.steps) or (model is not None and bool(model.turns))
        if quarantine is None or quarantine.blame not in {"provider", "harness"} or has_begun:
            self._in_a_row = 0
            return
        self._in_a_row += 1
        if self._in_a_row >= self._most:
            raise Outage(
                f"{self._in_a_row} attempts in a row came to nothing, the last because of {quarantine.kind}: "
                f"{quarantine.because}; the same command with --resume goes on"
            )


async def _make_plan(options: RunOptions, folder: Path, connection: AsyncConnection, *, resume: bool) -> Plan:
    listed = (await connection.run(connection.address.control.families())).families
    families = select_families(
        options.tasks,
        [family.id for family in listed if options.split in family.split],
        [family.id for family in listed if options.split not in family.split],
    )
    attempts = list_attempts(options, families)
    # Last: what cannot be played leaves no folder behind.
    finished = prepare_folder(folder, options, resume=resume)
    return Plan(families, [attempt for attempt in attempts if attempt.key not in finished], len(finished))


async def _play_all(
    player: "_Player", attempts: Sequence[Attempt], connection: AsyncConnection, concurrency: int
) -> AsyncGenerator[Trajectory, None]:
    waiting: Iterator[Attempt] = iter(attempts)
    running: set[asyncio.Task[Trajectory]] = set()
    try:
        while True:
            while len(running) < concurrency and (attempt := next(waiting, None)) is not None:
                running.add(asyncio.create_task(player.play(attempt, connection)))
            if not running:
                return
            finished, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            # What was played is kept before an error ends the run; each error is looked at, so that none is logged.
            for task in sorted(finished, key=lambda task: task.exception() is not None):
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _require_opened(trajectories: AsyncIterator[Trajectory], most: int) -> AsyncIterator[Trajectory]:
    """Holds refused attempts back until one was opened, and raises where the stack opens none of the first `most`.

    The run then asks for what does not exist, such as a world that was not built, and its folder stays empty.
    """
    refused: list[Trajectory] = []
    async for trajectory in trajectories:
        if (quarantine := trajectory.quarantine) is not None and quarantine.blame == "caller":
            refused.append(trajectory)
            if len(refused) < most:
                continue
            raise UsageError(quarantine.because)
        for held in (*refused, trajectory):
            yield held
        break
    else:
        if refused and (quarantine := refused[0].quarantine) is not None:
            raise UsageError(quarantine.because)
    async for trajectory in trajectories:
        yield trajectory


class _Player(ABC):
    """Plays attempts; how it works in an episode is the subclass's own."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options

    async def play(self, attempt: Attempt, connection: AsyncConnection) -> Trajectory:
        """Plays one attempt; whatever happens in it, the others go on, unless no attempt could be played at all."""
        try:
            trajectory = await self._play(attempt.request, connection)
        except (ModelUnavailable, TokenRefused):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of this package ends its own episode only
            trajectory = self._record_unopened(attempt.request, _explain_bug(error))
        return trajectory.model_copy(update={"group": attempt.group, "attempt": attempt.number})

    async def _play(self, request: OpenRequest, connection: AsyncConnection) -> Trajectory:
        try:
            episode = await self._open(request, connection)
        except TokenRefused:
            raise
        except (HarnessFault, UsageError) as error:
            return self._record_unopened(request, explain_unopened(error))
        async with episode, episode.keep_alive():
            return await self._finish(episode)

    def _record_unopened(self, request: OpenRequest, quarantine: Quarantine) -> Trajectory:
        return record_unopened(request, quarantine, self.options.model, self.options.policy_version)

    def _record(self, episode: AsyncEpisode, quarantine: Quarantine | None) -> Trajectory:
        options = self.options
        return Trajectory.of(episode.protocol, options.policy_version, policy=options.model, quarantine=quarantine)

    async def _open(self, request: OpenRequest, connection: AsyncConnection) -> AsyncEpisode:
        for attempts_left in reversed(range(_OPEN_ATTEMPTS)):
            try:
                return await AsyncEpisode.open(
                    request,
                    connection=connection,
                    surface=self.options.surface,
                    max_answer_chars=self.options.max_answer_chars,
                    policy=self.options.model,
                    policy_version=self.options.policy_version,
                )
            except RetryLater as error:
                if not attempts_left:
                    raise
                await asyncio.sleep(error.problem.retry_after or 1)
        raise AssertionError("the last attempt returns or raises")

    @abstractmethod
    async def _finish(self, episode: AsyncEpisode) -> Trajectory: ...

    @abstractmethod
    async def close(self) -> None: ...


class _ModelPlayer(_Player):
    def __init__(self, options: RunOptions, model: Model, prices: Prices | None) -> None:
        super().__init__(options)
        self._model = model
        self._prices = prices

    async def _finish(self, episode: AsyncEpisode) -> Trajectory:
        surface, options = episode.protocol.require_surface(), self.options
        played = ModelEpisode(self._model, episode, surface, options.max_context_tokens, self._prices)
        quarantine = None
        try:
            await played.play()
        except HarnessFault:
            pass  # the protocol keeps its fault, and the trajectory holds it
        except ProviderFailure as failure:
            quarantine = Quarantine(blame="provider", kind=failure.kind, because=str(failure))
        except ModelUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of this package ends its own episode only
            quarantine = _explain_bug(error)
        await episode.fetch_diff()
        return self._record(episode, quarantine).model_copy(update={"model": played.record()})

    async def close(self) -> None:
        await self._model.close()


class _AgentPlayer(_Player):
    def __init__(self, options: RunOptions, agent: Agent) -> None:
        super().__init__(options)
        self._agent = agent

    async def _finish(self, episode: AsyncEpisode) -> Trajectory:
        quarantine = None
        try:
            answer = await run_agent(self._agent, AgentSession(episode, episode.protocol.require_surface()))
            if not episode.over:
                await episode.submit(answer)
        except HarnessFault:
            pass  # the protocol keeps its fault, and the trajectory holds it
        except Exception as error:  # noqa: BLE001 - a bug of an agent ends its own episode only
            quarantine = Quarantine(blame="policy", kind=type(error).__name__, because=str(error))
        await episode.fetch_diff()
        return self._record(episode, quarantine)

    async def close(self) -> None:
        """An agent closes its own things."""


def _explain_bug(error: Exception) -> Quarantine:
    """The environment is to blame: whatever this package does not expect is no fault of the model's."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    because = f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    return Quarantine(blame="harness", kind=CLIENT_BUG, because=because)


def _create_player(options: RunOptions, limits: RunLimits) -> _Player:
    if options.model.startswith(PYTHON_AGENT):
        return _AgentPlayer(options, load_agent(options.model.removeprefix(PYTHON_AGENT)))
    model = create_model(
        options.model,
        base_url=limits.base_url,
        sampling=options.sampling,
        timeout_seconds=limits.timeout_seconds,
        retries=limits.provider_retries,
    )
    return _ModelPlayer(options, model, limits.prices)
