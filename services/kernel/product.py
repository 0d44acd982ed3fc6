"""Product: what a service declares."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from fastapi import APIRouter

from services.kernel.answers import Answer
from services.kernel.changes import Change
from services.kernel.checks import Check
from services.kernel.config import Settings
from services.kernel.credentials import CredentialFormat, bearer
from services.kernel.encoding import JSON, Encoding
from services.kernel.errors import Refusal
from services.kernel.judging import Judging
from services.kernel.sizes import MIB
from services.kernel.statements import RowTable
from services.kernel.template import WorldSchema
from services.kernel.world import World


class CannotStart(RuntimeError):
    """Something that this product needs is missing; the message says what, and how to get it."""


class RequestContext(NamedTuple):
    """What a refusal may say about its request: enough for a deterministic correlation id."""

    request: int
    method: str
    path: str
    now_ms: int


def _nothing_falls_due(world: World, until_ms: int) -> None:
    world.clock.advance_to(until_ms)


async def _start_nothing(_: Settings) -> None:
    return None


async def _nothing_to_do() -> None:
    return None


async def _all_in_rows(_: World) -> None:
    return None


def _holds_nothing(_: World) -> None:
    return None


def _lacks_nothing(_: Settings) -> str | None:
    return None


def _no_news(_world: World, _changes: Sequence[Change]) -> list[str]:
    return []


def _no_headers(_: World) -> Mapping[str, str]:
    return {}


def _no_key_headers(_: "IdempotentAnswer") -> Mapping[str, str]:
    return {}


def _keep_all(_: Answer) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class IdempotentAnswer:
    """The first answer to a request with an Idempotency-Key, or a repetition of it."""

    key: str
    first: Answer
    replayed: bool


@dataclass(frozen=True, slots=True)
class BenchCall:
    """One operation that `make bench` measures; `{id}` is a row that `ids` finds, `{n}` a running number."""

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
    render: Callable[[Refusal, RequestContext], Answer]
    checks: Mapping[str, type[Check]]
    # Makes the agent's credential from a secret, in the vendor's shape.
    create_credential: Callable[[str], str]
    credential_formats: tuple[CredentialFormat, ...] = (bearer,)
    # Forms of the vendor's keys in which people may write the playground's credential: some clients check the form.
    key_shapes: tuple[str, ...] = ()
    # Prepares the world of every episode, after its task is planted and before anybody looks.
    on_open: Callable[[World], None] = _holds_nothing
    # Prepares the world of the playground, which people use to try things out.
    on_playground: Callable[[World], None] = _holds_nothing
    # Moves the clock and runs what falls due: jobs, renewals, automations.
    advance: Callable[[World, int], None] = _nothing_falls_due
    # Runs what the tick of a request makes due, in the same savepoint as the request.
    on_tick: Callable[[World], None] | None = None
    headers: Callable[[World], Mapping[str, str]] = _no_headers
    # Tells a user what others changed, one sentence for each thing that a notification would tell.
    news: Callable[[World, Sequence[Change]], list[str]] = _no_news
    # Where the company reaches this product. Links carry this address for clients that send its host.
    public_url: str = ""
    body_limit: int = MIB
    # Whether some of its routes answer a WebSocket's handshake.
    has_sockets: bool = False
    # How clients write bodies and query strings.
    encoding: Encoding = JSON
    # What clients may append to any path, such as .json; routes are declared without it.
    suffix: str = ""
    # Headers of an answer to a request with an Idempotency-Key, and which answers below 500 are kept for the key.
    key_answer_headers: Callable[[IdempotentAnswer], Mapping[str, str]] = _no_key_headers
    keeps_answer: Callable[[Answer], bool] = _keep_all
    # Other headers in which this product's clients send an Idempotency-Key.
    key_headers: tuple[bytes, ...] = ()
    # Run before the sockets open and after they close; where `on_start` raises CannotStart, they stay closed.
    on_start: Callable[[Settings], Awaitable[None]] = _start_nothing
    # Says what this machine lacks for the product and how to get it, before anything is started.
    missing_requirement: Callable[[Settings], str | None] = _lacks_nothing
    on_stop: Callable[[], Awaitable[None]] = _nothing_to_do
    # Writes down as rows what an episode did outside of them, before its diff is taken.
    settle: Callable[[World], Awaitable[None]] = _all_in_rows
    # Frees what an ended episode held outside its rows.
    on_close: Callable[[World], None] = _holds_nothing
    # What the judge must know of its rows, fields and paths.
    judging: Judging = field(default_factory=Judging)
    # The operations that people of this job use every day: the tools that a model is given at first.
    core_operations: tuple[str, ...] = ()
    # Parameters that those operations have beside the ones of daily use; a model is told of them when it asks.
    rare_parameters: frozenset[str] = frozenset()
    # Texts for parameters that the code leaves without one, by name, or by operation and name.
    parameter_texts: Mapping[str, str] = field(default_factory=dict)
    # Lines to paste into a terminal or a Python prompt; {base} and {token} are filled in.
    snippet: str = "curl -s -H 'Authorization: Bearer {token}' {base}/openapi.json"
    # The distribution of the vendor's own SDK for Python, which people may want to try.
    sdk: str | None = None
    # What `make bench` measures.
    bench: Mapping[str, BenchCall] = field(default_factory=dict)

    @property
    def harness_port(self) -> int:
        """The harness API listens ten above the agent API."""
        return self.port + 10

    @property
    def public_host(self) -> bytes:
        return self.public_url.partition("://")[2].encode()

    def table(self, name: str) -> RowTable[Any, Any]:
        # Every table of a product is made by define_table.
        return cast("RowTable[Any, Any]", self.schema.tables.tables[name])
