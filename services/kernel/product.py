"""Product: what a service declares."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa
from fastapi import APIRouter

from services.kernel.answers import Answer
from services.kernel.checks import Check
from services.kernel.credentials import Form, bearer
from services.kernel.encoding import JSON, Encoding
from services.kernel.errors import Refusal
from services.kernel.template import WorldSchema
from services.kernel.world import World

MIB = 1 << 20


class CannotStart(RuntimeError):
    """Something this product needs is not here; the message says what, and how to get it."""


@dataclass(frozen=True, slots=True)
class Circumstance:
    """What a refusal may tell of the request it declines: enough for a deterministic correlation id."""

    request: int
    method: str
    path: str
    now_ms: int


def _nothing_falls_due(world: World, until_ms: int) -> None:
    world.clock.advance_to(until_ms)


async def _nothing_to_do() -> None:
    return None


async def _all_in_rows(_: World) -> None:
    return None


def _nothing_beside(_: World) -> None:
    return None


def _lacks_nothing() -> str | None:
    return None


def _no_headers(_: World) -> Mapping[str, str]:
    return {}


def _keyed_like_any(_: "Keyed") -> Mapping[str, str]:
    return {}


def _keep_all(_: Answer) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Keyed:
    """An answer to a request that carried an Idempotency-Key: the first, or the first once more."""

    key: str
    first: Answer
    replayed: bool


@dataclass(frozen=True, slots=True)
class BenchCall:
    """One operation worth measuring. `{id}` stands for a row that `ids` finds, `{n}` for a running number."""

    method: str
    path: str
    body: Mapping[str, object] | None = None
    # SQL on the world whose first column holds ids to choose from.
    ids: str = ""
    # A list in the body whose one element names `{id}` is repeated this often, with another id each.
    many: int = 1
    # At most this many times the CPU of an empty endpoint; None where nobody has set a bar.
    bar: float | None = None


@dataclass(frozen=True)
class Product:
    """One imitated service: its tables, routes, words and checks."""

    name: str
    title: str
    version: str
    port: int
    schema: WorldSchema
    router: APIRouter
    render: Callable[[Refusal, Circumstance], Answer]
    checks: Mapping[str, type[Check]]
    # What the agent's credential looks like, around a secret.
    mint: Callable[[str], str]
    forms: tuple[Form, ...] = (bearer,)
    # Moves the clock and lets fall due what does: jobs, renewals, automations.
    advance: Callable[[World, int], None] = _nothing_falls_due
    # The same for the tick that every request takes: runs before it, and stands or falls with it.
    ticked: Callable[[World], None] | None = None
    headers: Callable[[World], Mapping[str, str]] = _no_headers
    body_limit: int = MIB
    # How clients write bodies and query strings.
    encoding: Encoding = JSON
    # What clients may append to any path, such as .json; routes are declared without it.
    suffix: str = ""
    # Headers that go with an Idempotency-Key, and which answers below 500 a key stands for.
    keyed: Callable[[Keyed], Mapping[str, str]] = _keyed_like_any
    keeps: Callable[[Answer], bool] = _keep_all
    # Headers that say the same as Idempotency-Key in this product's clients.
    key_headers: tuple[bytes, ...] = ()
    # Before the doors open and after they closed; what `started` raises as CannotStart keeps them shut.
    started: Callable[[], Awaitable[None]] = _nothing_to_do
    # What this machine lacks for it, and how to get it; asked before anything of it is started.
    lacks: Callable[[], str | None] = _lacks_nothing
    stopped: Callable[[], Awaitable[None]] = _nothing_to_do
    # Writes down as rows what an episode did outside of them, before anybody looks at its diff.
    settle: Callable[[World], Awaitable[None]] = _all_in_rows
    # Lets go of what an ended episode held outside its rows.
    closed: Callable[[World], None] = _nothing_beside
    # Lines to paste into a terminal or a Python prompt; {base} and {token} are filled in.
    snippet: str = "curl -s -H 'Authorization: Bearer {token}' {base}/openapi.json"
    # What `make bench` measures.
    bench: Mapping[str, BenchCall] = field(default_factory=dict)

    @property
    def door_port(self) -> int:
        """The harness's door stands ten above the agent's."""
        return self.port + 10

    def table(self, name: str) -> sa.Table:
        return self.schema.tables.tables[name]
