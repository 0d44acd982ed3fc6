"""Episode and AsyncEpisode: one attempt at a task, driven by hand."""

from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from dayshift.calls import WAIT, Call, call
from dayshift.connection import AsyncConnection, Connection
from dayshift.dialogue import Dialogue
from dayshift.errors import HarnessFault
from dayshift.exchange import Exchange
from dayshift.operations import Catalogue
from dayshift.trajectory import Trajectory
from dayshift.wire import OpenRequest, Verdict


class _Attempt:
    """What both kinds of episode know without asking anybody."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue

    @property
    def id(self) -> str:
        return self.dialogue.opened.episode_id

    @property
    def brief(self) -> str:
        return self.dialogue.opened.brief

    @property
    def operations(self) -> Catalogue:
        return self.dialogue.operations

    @property
    def clock(self) -> str:
        return self.dialogue.clock

    @property
    def steps_left(self) -> int | None:
        return self.dialogue.steps_left

    @property
    def exchanges(self) -> Sequence[Exchange]:
        return self.dialogue.exchanges

    @property
    def verdict(self) -> Verdict | None:
        return self.dialogue.verdict

    @property
    def over(self) -> bool:
        return self.dialogue.over

    def trajectory(self, policy_version: str | None = None) -> Trajectory:
        return Trajectory.of(self.dialogue, policy_version)


class Episode(_Attempt):
    """One attempt at a task.

    with Episode.open("crm/correct-contact", seed=7) as episode:
        answer = episode.step("crm.contacts.list", limit=5)
        verdict = episode.submit()
    """

    def __init__(self, dialogue: Dialogue, connection: Connection, *, owns_connection: bool = False) -> None:
        super().__init__(dialogue)
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
        **options: Any,
    ) -> Self:
        wired = connection or Connection()
        request = task if isinstance(task, OpenRequest) else OpenRequest(task=task, seed=seed, **options)
        try:
            dialogue = wired.run(Dialogue.open(wired.address.control, request, retries))
        except BaseException:
            if connection is None:
                wired.close()
            raise
        return cls(dialogue, wired, owns_connection=connection is None)

    def step(self, operation: str | Call, /, **arguments: Any) -> Exchange:
        """One call; a call that does not exist raises, and nothing is sent."""
        return self._connection.run(self.dialogue.step(_as_call(operation, arguments)))

    def act(self, action: object, by: str = "") -> Exchange:
        """One call as a policy gives it; one that cannot be written becomes an answer that says so."""
        return self._connection.run(self.dialogue.act(action, by))

    def wait(self, hours: float) -> Exchange:
        return self.step(WAIT, hours=hours)

    def submit(self, answer: Any = None) -> Verdict:
        return self._connection.run(self.dialogue.submit(answer))

    def close(self) -> None:
        """Gives the episode back; a stack that is gone has done so already."""
        with suppress(HarnessFault):
            self._connection.run(self.dialogue.close())
        if self._owns_connection:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncEpisode(_Attempt):
    """One attempt at a task among hundreds that share a connection pool."""

    def __init__(self, dialogue: Dialogue, connection: AsyncConnection, *, owns_connection: bool = False) -> None:
        super().__init__(dialogue)
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
        **options: Any,
    ) -> Self:
        wired = connection or AsyncConnection()
        request = task if isinstance(task, OpenRequest) else OpenRequest(task=task, seed=seed, **options)
        try:
            dialogue = await wired.run(Dialogue.open(wired.address.control, request, retries))
        except BaseException:
            if connection is None:
                await wired.close()
            raise
        return cls(dialogue, wired, owns_connection=connection is None)

    async def step(self, operation: str | Call, /, **arguments: Any) -> Exchange:
        return await self._connection.run(self.dialogue.step(_as_call(operation, arguments)))

    async def act(self, action: object) -> Exchange:
        return await self._connection.run(self.dialogue.act(action))

    async def wait(self, hours: float) -> Exchange:
        return await self.step(WAIT, hours=hours)

    async def submit(self, answer: Any = None) -> Verdict:
        return await self._connection.run(self.dialogue.submit(answer))

    async def close(self) -> None:
        with suppress(HarnessFault):
            await self._connection.run(self.dialogue.close())
        if self._owns_connection:
            await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _as_call(operation: str | Call, arguments: dict[str, Any]) -> Call:
    return operation if isinstance(operation, Call) else call(operation, **arguments)
