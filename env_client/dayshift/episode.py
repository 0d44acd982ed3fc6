"""Episode and AsyncEpisode: one attempt at a task, without Gymnasium."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from dayshift.answer_text import MAX_ANSWER_CHARS
from dayshift.calls import WAIT, Call, call
from dayshift.connection import AsyncConnection, Connection
from dayshift.episode_protocol import EpisodeProtocol
from dayshift.errors import HarnessFault, UsageError
from dayshift.intervention import Ruling, Supervisor
from dayshift.open_request import open_request
from dayshift.operations import Catalogue
from dayshift.step import Step
from dayshift.tool_surface import Surface
from dayshift.trajectory import Trajectory
from dayshift.wire import McpAccess, OpenRequest, PolicyLabels, ProductAccess, Split, Verdict

# A small part of the stack's lease (DAYSHIFT_LEASE), which is half an hour by default.
_KEEP_ALIVE_SECONDS = 300.0


class EpisodeOptions(TypedDict, total=False):
    """The options of an episode besides its task and seed; `OpenRequest` holds their defaults."""

    split: Split
    world: str
    faults: str
    menu: bool


class _EpisodeState:
    """The properties of an episode that need no request."""

    def __init__(self, protocol: EpisodeProtocol, supervisor: Supervisor | None = None) -> None:
        self.protocol = protocol
        self.supervisor = supervisor

    @property
    def id(self) -> str:
        return self.protocol.opened.episode_id

    @property
    def brief(self) -> str:
        return self.protocol.opened.brief

    @property
    def products(self) -> Mapping[str, ProductAccess]:
        """The URL and the credential of each product, for a vendor's own SDK."""
        return self.protocol.opened.products

    @property
    def mcp(self) -> McpAccess | None:
        """Where an MCP client finds the tools of all products; one product's are at its `base_url` and `/mcp`."""
        return self.protocol.opened.mcp

    @property
    def operations(self) -> Catalogue:
        return self.protocol.operations

    @property
    def surface(self) -> Surface:
        """The tools that a model is given in this episode; `core` unless another surface was chosen."""
        return self.protocol.require_surface()

    @property
    def clock(self) -> str:
        return self.protocol.clock

    @property
    def steps_left(self) -> int | None:
        return self.protocol.steps_left

    @property
    def steps(self) -> Sequence[Step]:
        return self.protocol.steps

    @property
    def verdict(self) -> Verdict | None:
        return self.protocol.verdict

    @property
    def over(self) -> bool:
        return self.protocol.over

    def trajectory(self, policy_version: str | None = None) -> Trajectory:
        return Trajectory.of(self.protocol, policy_version)


class Episode(_EpisodeState):
    """One attempt at a task.

    with Episode.open("crm/correct-contact", seed=7) as episode:
        answer = episode.step("crm.contacts.list", limit=5)
        verdict = episode.submit()
    """

    def __init__(
        self,
        protocol: EpisodeProtocol,
        connection: Connection,
        *,
        owns_connection: bool = False,
        supervisor: Supervisor | None = None,
    ) -> None:
        super().__init__(protocol, supervisor)
        self._connection = connection
        self._owns_connection = owns_connection

    @classmethod
    def open(
        cls,
        task: str | OpenRequest | None,
        *,
        seed: int = 0,
        connection: Connection | None = None,
        retries: int = 0,
        surface: str | None = None,
        max_answer_chars: int = MAX_ANSWER_CHARS,
        max_steps: int | None = None,
        supervisor: Supervisor | None = None,
        policy: str | None = None,
        policy_version: str | None = None,
        **options: Unpack[EpisodeOptions],
    ) -> Self:
        """Opens an episode; the console shows `policy` and `policy_version`, and no agent sees them."""
        request = task if isinstance(task, OpenRequest) else open_request(task=task, seed=seed, **options)
        session = connection or Connection()
        labels = PolicyLabels.cut(policy, policy_version)
        opening = EpisodeProtocol.open(
            session.address.control, request, retries, surface, max_answer_chars, max_steps, labels
        )
        try:
            protocol = session.run(opening)
        except BaseException:
            if connection is None:
                session.close()
            raise
        return cls(protocol, session, owns_connection=connection is None, supervisor=supervisor)

    def step(self, operation: str | Call, /, **arguments: Any) -> Step:
        """Makes one call; a malformed one is not sent, and becomes a step with status 0 that says why."""
        return self.act(_to_call(operation, arguments))

    def act(self, action: object, by: str = "") -> Step:
        """Makes the call of a policy's action; a malformed action becomes a step with status 0 that says why."""
        if self.supervisor is None:
            return self._connection.run(self.protocol.act(action, by))
        return self.act_under(self.supervisor.rule(self.protocol.propose(action)), action, by)

    def act_under(self, ruling: Ruling, action: object, by: str = "") -> Step:
        """Does with an action what a supervisor decided."""
        return self._connection.run(self.protocol.act_under(ruling, action, by))

    def wait(self, hours: float) -> Step:
        return self.step(WAIT, hours=hours)

    def submit(self, answer: Any = None) -> Verdict:
        return self._connection.run(self.protocol.submit(answer))

    def fetch_diff(self) -> None:
        """Asks for the rows that the episode changed; `trajectory()` then holds them."""
        self._connection.run(self.protocol.fetch_diff())

    def close(self) -> None:
        """Closes the episode; a stack that no longer answers needs no close."""
        with suppress(HarnessFault):
            self._connection.run(self.protocol.close())
        if self._owns_connection:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncEpisode(_EpisodeState):
    """One attempt at a task; hundreds of them can share one connection pool."""

    def __init__(
        self,
        protocol: EpisodeProtocol,
        connection: AsyncConnection,
        *,
        owns_connection: bool = False,
        supervisor: Supervisor | None = None,
    ) -> None:
        super().__init__(protocol, supervisor)
        self._connection = connection
        self._owns_connection = owns_connection

    @classmethod
    async def open(
        cls,
        task: str | OpenRequest | None,
        *,
        seed: int = 0,
        connection: AsyncConnection | None = None,
        retries: int = 0,
        surface: str | None = None,
        max_answer_chars: int = MAX_ANSWER_CHARS,
        max_steps: int | None = None,
        supervisor: Supervisor | None = None,
        policy: str | None = None,
        policy_version: str | None = None,
        **options: Unpack[EpisodeOptions],
    ) -> Self:
        """As `Episode.open`. Whoever is cancelled meanwhile leaves no open episode behind."""
        request = task if isinstance(task, OpenRequest) else open_request(task=task, seed=seed, **options)
        session = connection or AsyncConnection()
        labels = PolicyLabels.cut(policy, policy_version)
        flow = EpisodeProtocol.open(
            session.address.control, request, retries, surface, max_answer_chars, max_steps, labels
        )
        opening = asyncio.create_task(session.run(flow))
        try:
            protocol = await asyncio.shield(opening)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                await cls._close_opened(opening, session)
            if connection is None:
                await session.close()
            raise
        return cls(protocol, session, owns_connection=connection is None, supervisor=supervisor)

    @classmethod
    async def _close_opened(cls, opening: "asyncio.Task[EpisodeProtocol]", session: AsyncConnection) -> None:
        """The stack may hold the episode by now, and nobody else would know its id."""
        with suppress(HarnessFault, UsageError):
            await cls(await opening, session).close()

    async def step(self, operation: str | Call, /, **arguments: Any) -> Step:
        return await self.act(_to_call(operation, arguments))

    async def act(self, action: object) -> Step:
        if self.supervisor is None:
            return await self._connection.run(self.protocol.act(action))
        ruling = await self.supervisor.rule_async(self.protocol.propose(action))
        return await self._connection.run(self.protocol.act_under(ruling, action))

    async def wait(self, hours: float) -> Step:
        return await self.step(WAIT, hours=hours)

    async def submit(self, answer: Any = None) -> Verdict:
        return await self._connection.run(self.protocol.submit(answer))

    async def fetch_diff(self) -> None:
        """As `Episode.fetch_diff`."""
        await self._connection.run(self.protocol.fetch_diff())

    @asynccontextmanager
    async def keep_alive(self, every: float = _KEEP_ALIVE_SECONDS) -> AsyncIterator[Self]:
        """Keeps the episode's lease while its agent waits for something else, such as a slow model."""
        ping = asyncio.create_task(self._keep_alive(every))
        try:
            yield self
        finally:
            ping.cancel()
            await asyncio.gather(ping, return_exceptions=True)

    async def _keep_alive(self, every: float) -> None:
        while not self.over:
            await asyncio.sleep(every)
            # Whatever is wrong here, the next call meets it, too.
            with suppress(HarnessFault, UsageError):
                await self._connection.run(self.protocol.control.state(self.protocol.opened.episode_id))

    async def close(self) -> None:
        with suppress(HarnessFault):
            await self._connection.run(self.protocol.close())
        if self._owns_connection:
            await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _to_call(operation: str | Call, arguments: dict[str, Any]) -> Call:
    return operation if isinstance(operation, Call) else call(operation, **arguments)
