"""Trajectory: a finished episode as it is recorded, in a versioned schema."""

import base64
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, JsonValue

from dayshift.calls import Call
from dayshift.errors import HarnessFault
from dayshift.exchange import Exchange
from dayshift.wire import Budget, Message, OpenRequest, Verdict

if TYPE_CHECKING:
    from dayshift.dialogue import Dialogue

SCHEMA = "dayshift.trajectory/1"
# A rule of thumb over English and JSON; good enough to compare policies by cost.
_BYTES_PER_TOKEN = 4
_BASE64 = "base64:"

Ending = Literal["passed", "failed", "quarantined"]
# By the harness's answer, the specialist's report or its budget; no call at all; or cut off by a fault of the house.
TurnEnd = Literal["answered", "reported", "spent", "misstep", "broken"]
# Ours, the policy's own bug, or a task that does not exist.
Blame = Literal["harness", "policy", "caller"]


class Manifest(Message):
    """Everything needed to open the same episode again, and to know whether it is the same."""

    schema_version: Literal["dayshift.trajectory/1"] = "dayshift.trajectory/1"
    episode_id: str
    open: OpenRequest
    brief: str
    budget: Budget | None
    products: list[str]
    fingerprint: str
    clock: str
    action_space: str
    versions: dict[str, str]


class Step(Message):
    """One call and its answer; bodies that are not text are kept as `base64:…`."""

    number: int
    operation: str
    arguments: dict[str, JsonValue]
    product: str
    method: str
    target: str
    request: str
    status: int
    answer: str
    revision: int | None
    clock: str
    key: str
    milliseconds: float
    fault: str | None
    policy_version: str | None = None
    # Whose step it was, where an orchestrator and specialists worked together.
    actor: str = ""

    @property
    def call(self) -> Call:
        return Call(self.operation, self.arguments)

    @property
    def sent(self) -> bool:
        return bool(self.method)

    @property
    def answer_bytes(self) -> bytes:
        return bytes_of(self.answer)


class Turn(Message):
    """One thing that an orchestrator did, and what it was told; steps `first` to `last` are the specialist's work."""

    number: int
    operation: str
    arguments: dict[str, JsonValue]
    # The specialist that was asked; empty for a wait, the end, and a call that could not be written.
    asked: str
    ended: TurnEnd
    first: int
    last: int
    status: int
    answer: str
    clock: str

    @property
    def text(self) -> str:
        return self.answer


class Quarantine(Message):
    """Why an episode has no reward."""

    blame: Blame
    kind: str
    because: str


class Cost(Message):
    """What the episode took."""

    calls: int
    request_bytes: int
    answer_bytes: int
    tokens_estimated: int
    wall_seconds: float
    virtual_seconds: float


class Trajectory(Message):
    """A finished episode: passed, failed, or quarantined and without a reward."""

    manifest: Manifest
    steps: list[Step]
    verdict: Verdict | None
    quarantine: Quarantine | None
    cost: Cost
    policy: str | None = None
    policy_version: str | None = None
    # Of a team: the orchestrator's own turns, and what each level earned; empty where one agent worked alone.
    turns: list[Turn] = Field(default_factory=list)
    rewards: dict[str, float] = Field(default_factory=dict)

    @property
    def ending(self) -> Ending:
        if self.verdict is None or self.verdict.outcome == "unscored":
            return "quarantined"
        return self.verdict.outcome

    @property
    def reward(self) -> float | None:
        return None if self.verdict is None else self.verdict.reward

    @property
    def scored(self) -> bool:
        return self.reward is not None

    @property
    def flagged(self) -> bool:
        return self.verdict is not None and bool(self.verdict.flags)

    @property
    def on_policy(self) -> bool:
        """False if the policy was replaced while the episode ran."""
        return len({step.policy_version for step in self.steps} - {None}) <= 1

    @classmethod
    def of(
        cls,
        dialogue: "Dialogue",
        policy_version: str | None = None,
        *,
        policy: str | None = None,
        quarantine: Quarantine | None = None,
        step_versions: Sequence[str | None] = (),
        turns: Sequence[Turn] = (),
        rewards: Mapping[str, float] | None = None,
    ) -> "Trajectory":
        exchanges = dialogue.exchanges
        versions = [*step_versions, *[policy_version] * (len(exchanges) - len(step_versions))]
        steps = [_step(exchange, version) for exchange, version in zip(exchanges, versions, strict=True)]
        return cls(
            manifest=_manifest(dialogue),
            steps=steps,
            verdict=dialogue.verdict,
            quarantine=quarantine or _quarantine(dialogue.fault, dialogue.verdict),
            cost=_cost(dialogue),
            policy=policy,
            policy_version=policy_version,
            turns=list(turns),
            rewards=dict(rewards or {}),
        )


def text_of(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return _BASE64 + base64.b64encode(content).decode()
    return text if not text.startswith(_BASE64) else _BASE64 + base64.b64encode(content).decode()


def bytes_of(text: str) -> bytes:
    return base64.b64decode(text.removeprefix(_BASE64)) if text.startswith(_BASE64) else text.encode()


def _manifest(dialogue: "Dialogue") -> Manifest:
    opened = dialogue.opened
    return Manifest(
        episode_id=opened.episode_id,
        open=dialogue.request,
        brief=opened.brief,
        budget=opened.budget,
        products=sorted(opened.products),
        fingerprint=opened.fingerprint,
        clock=opened.clock,
        action_space=dialogue.operations.fingerprint,
        versions=versions(),
    )


@cache
def versions() -> dict[str, str]:
    return {name: version(name) for name in ("dayshift", "gymnasium", "httpx")} | {"python": platform.python_version()}


def _step(exchange: Exchange, policy_version: str | None) -> Step:
    return Step(
        number=exchange.number,
        operation=exchange.call.operation,
        arguments=plain(exchange.call.arguments),
        product=exchange.product,
        method=exchange.method,
        target=exchange.target,
        request=text_of(exchange.request),
        status=exchange.status,
        answer=text_of(exchange.body),
        revision=exchange.revision,
        clock=exchange.clock,
        key=exchange.key,
        milliseconds=exchange.milliseconds,
        fault=exchange.fault,
        policy_version=policy_version,
        actor=exchange.actor,
    )


def plain(value: Any) -> Any:
    """Tuples as lists and foreign things as their text: what a JSON file can hold."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def _quarantine(fault: HarnessFault | None, verdict: Verdict | None) -> Quarantine | None:
    if fault is not None:
        return Quarantine(blame="harness", kind=fault.kind, because=str(fault))
    if verdict is None:
        return Quarantine(blame="policy", kind="NotSubmitted", because="the episode ended without a verdict")
    return None


def _cost(dialogue: "Dialogue") -> Cost:
    exchanges = dialogue.exchanges
    up = sum(len(exchange.request) + len(exchange.target) for exchange in exchanges)
    down = sum(len(exchange.body) for exchange in exchanges)
    return Cost(
        calls=sum(exchange.sent for exchange in exchanges),
        request_bytes=up,
        answer_bytes=down,
        tokens_estimated=(up + down + len(dialogue.opened.brief.encode())) // _BYTES_PER_TOKEN,
        wall_seconds=sum(exchange.milliseconds for exchange in exchanges) / 1000,
        virtual_seconds=_between(dialogue.opened.clock, dialogue.clock),
    )


def _between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
