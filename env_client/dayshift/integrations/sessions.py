"""Sessions: the episodes that a server of a foreign protocol holds for its clients, with leases and a capacity."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from dayshift.connection import AsyncConnection
from dayshift.discovery import discover_operations
from dayshift.episode import AsyncEpisode
from dayshift.errors import AtCapacity, DayshiftError, HarnessFault, StepTimeout, UsageError
from dayshift.open_request import open_request
from dayshift.patient_opening import open_when_ready
from dayshift.step import Step
from dayshift.task_sampling import list_eligible_tasks, sample_task
from dayshift.tool_surface import DEFAULT_SURFACE, Surface
from dayshift.wire import Families, OpenRequest, Split, Verdict

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
_MAX_CONNECTIONS = 64
_REAPER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a server opens where its client does not say; `max_sessions` and `lease_seconds` bound what it holds."""

    task: str | None = None
    families: str = ""
    split: Split = "train"
    world: str = "standard"
    faults: str = "none"
    surface: str = DEFAULT_SURFACE
    max_sessions: int = 1024
    # A session that nobody uses for so long is closed; its client may have died without a word.
    lease_seconds: float = 900.0
    connections: int = _MAX_CONNECTIONS


# What a client may choose when it opens an episode; everything else belongs to whoever started the server.
CHOICES = frozenset({"task", "seed", "split", "world", "faults", "surface"})


class ServerFull(DayshiftError):
    """The server or its stack holds as many sessions as it may."""

    def __init__(self, active: int, most: int) -> None:
        super().__init__(f"Server at capacity: {active}/{most} sessions active; close one, or come back later")
        self.active, self.most = active, most


class NoSuchSession(UsageError):
    """No session has that id: it was closed, or nobody used it for the length of a lease."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"there is no session {session_id[:100]!r}: it was closed or its lease ran out; reset first")


@dataclass(frozen=True, slots=True)
class Turn:
    """The answer to one call; `verdict` is set when the call ended the episode."""

    step: Step
    text: str
    verdict: Verdict | None


@dataclass(eq=False)
class Session:
    """A client's place at the server, and the episode that it plays there."""

    id: str
    used_at: float
    episode: AsyncEpisode | None = None
    # The client's own name for the episode, where it gave one.
    label: str | None = None
    # One call at a time: the order of calls is part of an episode.
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Called when the lease has run out: each ends a connection that waits for the client's next word.
    on_expiry: list[Callable[[], None]] = field(default_factory=list)

    @property
    def step_count(self) -> int:
        return 0 if self.episode is None else len(self.episode.steps)

    def require_episode(self) -> AsyncEpisode:
        if self.episode is None:
            raise UsageError("no episode is open: reset first")
        return self.episode

    async def call(self, tool: str, arguments: object, timeout: float | None = None) -> Turn:
        """Makes one call. The last call that the budget allows is followed by the verdict, as `finish_work` is."""
        episode = self.require_episode()
        _raise_fault(episode)
        async with self.lock:
            try:
                act = episode.act({"operation": tool, "arguments": arguments})
                step = await (act if timeout is None else _within(timeout, act))
            except TimeoutError:
                # Whether the call took effect is unknown, so nothing that follows could be judged.
                episode.protocol.fault = StepTimeout(f"{tool[:100]} got no answer in {timeout:g} s")
                raise episode.protocol.fault from None
            if episode.verdict is None and episode.steps_left == 0:
                await episode.submit()
        return Turn(step, episode.surface.read(step), episode.verdict)

    async def judge(self) -> Verdict:
        """Returns the verdict; work that was not handed in is judged as it stands."""
        episode = self.require_episode()
        _raise_fault(episode)
        async with self.lock:
            return await episode.submit()


async def _within(seconds: float, work: Awaitable[Step]) -> Step:
    async with asyncio.timeout(seconds):
        return await work


def _raise_fault(episode: AsyncEpisode) -> None:
    """Repeats the environment's failure to whoever asks again: it must not turn into an ordinary refusal."""
    if episode.protocol.fault is not None:
        raise episode.protocol.fault


class SessionPool:
    """All sessions of one server, over one bounded connection pool to the stack."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.sessions: dict[str, Session] = {}
        self._tasks_by_split: dict[Split, list[dict[str, Any]]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Connects, and reads the tools of the products that the server's tasks use."""
        self.connection = AsyncConnection(connections=self.options.connections)
        try:
            self.families: Families = await self.connection.run(self.connection.address.control.families())
            self.surface = await self._discover_surface()
        except BaseException:
            await self.connection.close()
            raise
        self._reaper = asyncio.create_task(self._reap())

    async def stop(self) -> None:
        self._reaper.cancel()
        await asyncio.gather(*(self.close(session) for session in tuple(self.sessions.values())))
        await asyncio.gather(*self._closing)
        await self.connection.close()

    def attach(self, session_id: str | None = None) -> Session:
        """Gives a client a place; the episode comes with `reset`."""
        if len(self.sessions) >= self.options.max_sessions:
            raise ServerFull(len(self.sessions), self.options.max_sessions)
        session = Session(session_id or secrets.token_hex(16), _now())
        self.sessions[session.id] = session
        return session

    def find(self, session_id: str) -> Session:
        """Returns a session and renews its lease."""
        session = self.sessions.get(session_id)
        if session is None:
            raise NoSuchSession(session_id)
        session.used_at = _now()
        return session

    async def reset(self, session: Session, choices: Mapping[str, Any]) -> AsyncEpisode:
        """Ends the session's episode, if it has one, and opens the next."""
        request = self.choose(choices)
        surface = str(choices.get("surface") or self.options.surface)
        async with session.lock:
            await self._close_episode(session)
            session.episode = await self._open(request, surface)
            session.label = None if choices.get("episode_id") is None else str(choices["episode_id"])[:200]
        if session.id not in self.sessions:
            # The client left while its episode was being opened.
            await self._close_episode(session)
            raise NoSuchSession(session.id)
        session.used_at = _now()
        return session.episode

    async def close(self, session: Session) -> None:
        self.sessions.pop(session.id, None)
        async with session.lock:
            await self._close_episode(session)

    def close_soon(self, session: Session) -> None:
        """Closes a session whose client need not wait for it, or is gone."""
        self.sessions.pop(session.id, None)
        task = asyncio.create_task(self.close(session))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def choose(self, choices: Mapping[str, Any]) -> OpenRequest:
        """Builds the request that opens an episode; without a task the seed draws one, and `""` is free play."""
        defaults = {name: getattr(self.options, name) for name in ("task", "split", "world", "faults")}
        chosen = {name: choices[name] for name in CHOICES - {"surface"} if choices.get(name) is not None}
        request = open_request(**(defaults | chosen))
        if request.task is None:
            tasks = list_eligible_tasks(self.families, (), request.split, self.options.families)
            return request.model_copy(update={"task": sample_task(tasks, request.seed)})
        return request if request.task else request.model_copy(update={"task": None})

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Every different instance of a split as what `reset` takes, seed by seed over all families."""
        name = next((name for name in SPLITS if name == split), None)
        if name is None:
            raise UsageError(f"there is no split {split[:100]!r}; there are {', '.join(SPLITS)}")
        if name not in self._tasks_by_split:
            self._tasks_by_split[name] = self._build_tasks(name)
        return self._tasks_by_split[name]

    def _build_tasks(self, split: Split) -> list[dict[str, Any]]:
        chosen = [family for family in self.families.families if self._offers(family.id) and split in family.split]
        pairs = sorted((seed, family.id) for family in chosen for seed in range(family.instances.get(split, 1)))
        return [{"task": task, "seed": seed, "split": split} for seed, task in pairs]

    def _offers(self, family: str) -> bool:
        return family == self.options.task if self.options.task else family.startswith(self.options.families)

    async def _discover_surface(self) -> Surface:
        """The tools before an episode is open: those of all products that the server's tasks use."""
        families = [family for family in self.families.families if self._offers(family.id)]
        if not families:
            raise UsageError(f"no task of this stack is {self.options.task or self.options.families + '…'}")
        products = tuple(sorted({product for family in families for product in family.products}))
        flow = discover_operations(self.connection.address.control, self.options.world, products)
        solution = [operation for family in families for operation in family.operations]
        return (await self.connection.run(flow)).surface(self.options.surface, solution=solution)

    async def _open(self, request: OpenRequest, surface: str) -> AsyncEpisode:
        try:
            return await open_when_ready(request, connection=self.connection, surface=surface, waits_for_room=False)
        except AtCapacity as full:
            raise ServerFull(full.problem.open_episodes or 0, full.problem.max_episodes or 0) from full

    async def _close_episode(self, session: Session) -> None:
        episode, session.episode = session.episode, None
        if episode is not None:
            # Control's own lease ends what it could not be told about.
            with suppress(HarnessFault, UsageError):
                await episode.close()

    async def _reap(self) -> None:
        lease = self.options.lease_seconds
        while True:
            await asyncio.sleep(min(lease / 4, _REAPER_SECONDS))
            oldest = _now() - lease
            for session in tuple(self.sessions.values()):
                if session.used_at < oldest and not session.lock.locked():
                    self.close_soon(session)
                    for end in session.on_expiry:
                        end()


def _now() -> float:
    return asyncio.get_running_loop().time()


def parse_server_options(arguments: Mapping[str, Any]) -> ServerOptions:
    """Takes the options of a command line that concern sessions."""
    names = {option.name for option in fields(ServerOptions)}
    return ServerOptions(**{name: value for name, value in arguments.items() if name in names})
