"""Trajectory: the record of a finished episode, in a versioned schema."""

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
from dayshift.intervention import Intervention
from dayshift.model_record import ModelRecord
from dayshift.step import Step
from dayshift.trajectory_changes import RecordedChange, assign_steps, limit_changes
from dayshift.version import VERSION
from dayshift.wire import Budget, Message, OpenRequest, Verdict

if TYPE_CHECKING:
    from dayshift.episode_protocol import EpisodeProtocol
    from dayshift.tool_surface import Surface

SCHEMA = "dayshift.trajectory/1"
# A rule of thumb for English and JSON, which is good enough to compare the cost of policies.
_BYTES_PER_TOKEN = 4
_BASE64 = "base64:"

Ending = Literal["passed", "failed", "quarantined"]
# The harness answered; the specialist reported; its budget is spent; the call was malformed; a harness fault came.
TurnEnd = Literal["answered", "reported", "spent", "misstep", "broken"]
# The environment failed, the policy has a bug, the caller asked for a task that does not exist, or the provider of a
# model gave no answer.
Blame = Literal["harness", "policy", "caller", "provider"]
# The kind of a quarantine by an exception that this package does not expect: our failure, hence the harness's.
CLIENT_BUG = "ClientBug"


class SurfaceRecord(Message):
    """The surface of an episode: its name, its size, and whether it was chosen with knowledge of the solution."""

    name: str
    tokens: int
    tools: int
    max_answer_chars: int
    assisted: bool
    # The operations of an assisted surface, which its name does not tell.
    operations: list[str] | None = None


class Manifest(Message):
    """The data that opens the same episode again and shows whether it is the same."""

    schema_version: Literal["dayshift.trajectory/1"] = "dayshift.trajectory/1"
    episode_id: str
    open: OpenRequest
    brief: str
    budget: Budget | None
    products: list[str]
    fingerprint: str
    clock: str
    action_space: str
    # The fingerprint of the stack's secret salt, where it had one.
    salt: str | None = None
    versions: dict[str, str]
    # The tools that a model was given; None where a policy called operations without a list of tools.
    surface: SurfaceRecord | None = None
    # The schema of the answer that the work asks for, where it asks for one.
    answer_schema: dict[str, JsonValue] | None = None
    # The bound that the trainer set on the steps, where it set one.
    max_steps: int | None = None

    @property
    def step_budget(self) -> int | None:
        """The steps that the agent had: the task's budget, or the trainer's bound where that is smaller."""
        return smaller_budget(self.budget, self.max_steps)


class RecordedStep(Message):
    """One call and its answer; a body that is not text is stored as `base64:…`."""

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
    # In a team: "orchestrator", or the specialist by the name of its product.
    actor: str = ""

    @property
    def call(self) -> Call:
        return Call(self.operation, self.arguments)

    @property
    def sent(self) -> bool:
        return bool(self.method)

    @property
    def answer_bytes(self) -> bytes:
        return decode_text(self.answer)


class Turn(Message):
    """One call of an orchestrator and its answer; steps `first` to `last` are the specialist's work on it."""

    number: int
    operation: str
    arguments: dict[str, JsonValue]
    # The specialist that was asked; empty for `wait`, `submit` and a malformed call.
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
    """The cost of the episode."""

    calls: int
    request_bytes: int
    answer_bytes: int
    tokens_estimated: int
    wall_seconds: float
    virtual_seconds: float


class Trajectory(Message):
    """A finished episode: passed, failed, or quarantined and without a reward."""

    manifest: Manifest
    steps: list[RecordedStep]
    verdict: Verdict | None
    quarantine: Quarantine | None
    cost: Cost
    policy: str | None = None
    policy_version: str | None = None
    # In a team: the orchestrator's turns and the reward of each agent; empty where one agent worked alone.
    turns: list[Turn] = Field(default_factory=list)
    rewards: dict[str, float] = Field(default_factory=dict)
    # Attempts at one instance form a group, and are numbered in it.
    group: str | None = None
    attempt: int | None = None
    # The conversation, where a model played through `dayshift run`.
    model: ModelRecord | None = None
    # The rows that the episode changed, by step; None where nobody asked for them. Some may be left out of a long list.
    changes: list[RecordedChange] | None = None
    changes_cut: int = 0
    # Where somebody stepped in: paused the episode, replaced or vetoed a call, or took over.
    interventions: list[Intervention] = Field(default_factory=list)

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
    def intervened(self) -> bool:
        """True if somebody changed what the policy did; exports for training leave such an episode out."""
        return any(intervention.changed_call for intervention in self.interventions)

    @property
    def on_policy(self) -> bool:
        """False if the policy's version changed during the episode."""
        return len({step.policy_version for step in self.steps} - {None}) <= 1

    @classmethod
    def of(
        cls,
        protocol: "EpisodeProtocol",
        policy_version: str | None = None,
        *,
        policy: str | None = None,
        quarantine: Quarantine | None = None,
        step_versions: Sequence[str | None] = (),
        turns: Sequence[Turn] = (),
        rewards: Mapping[str, float] | None = None,
    ) -> "Trajectory":
        # What the episode was opened with stands where nobody says otherwise.
        policy_version = policy_version or protocol.labels.policy_version
        policy = policy or protocol.labels.policy
        versions = [*step_versions, *[policy_version] * (len(protocol.steps) - len(step_versions))]
        steps = [_record_step(step, version) for step, version in zip(protocol.steps, versions, strict=True)]
        changes, changes_cut = _record_changes(protocol)
        return cls(
            manifest=_build_manifest(protocol),
            steps=steps,
            verdict=protocol.verdict,
            quarantine=quarantine or _build_quarantine(protocol.fault, protocol.verdict),
            cost=_compute_cost(protocol),
            policy=policy,
            policy_version=policy_version,
            turns=list(turns),
            rewards=dict(rewards or {}),
            changes=changes,
            changes_cut=changes_cut,
            interventions=list(protocol.interventions),
        )


def smaller_budget(budget: Budget | None, max_steps: int | None) -> int | None:
    bounds = [*([] if budget is None else [budget.steps]), *([] if max_steps is None else [max_steps])]
    return min(bounds, default=None)


def group_id(request: OpenRequest) -> str:
    """The name of an instance; all attempts at it form a group."""
    faults = "" if request.faults == "none" else f"+{request.faults}"
    return f"{request.task or 'free-play'}/{request.split}/{request.seed}@{request.world}{faults}"


def encode_text(content: bytes) -> str:
    """Returns a body as text, in base64 where it is not UTF-8."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return _BASE64 + base64.b64encode(content).decode()
    return text if not text.startswith(_BASE64) else _BASE64 + base64.b64encode(content).decode()


def decode_text(text: str) -> bytes:
    return base64.b64decode(text.removeprefix(_BASE64)) if text.startswith(_BASE64) else text.encode()


def _build_manifest(protocol: "EpisodeProtocol") -> Manifest:
    opened = protocol.opened
    return Manifest(
        episode_id=opened.episode_id,
        open=protocol.request,
        brief=opened.brief,
        budget=opened.budget,
        products=sorted(opened.products),
        fingerprint=opened.fingerprint,
        clock=opened.clock,
        action_space=protocol.operations.fingerprint,
        salt=opened.salt,
        versions=versions(),
        surface=None if protocol.surface is None else _record_surface(protocol.surface),
        answer_schema=opened.answer_schema,
        max_steps=protocol.max_steps,
    )


def _record_surface(surface: "Surface") -> SurfaceRecord:
    return SurfaceRecord(
        name=surface.name,
        tokens=surface.tokens,
        tools=len(surface.tools),
        max_answer_chars=surface.max_answer_chars,
        assisted=surface.assisted,
        operations=[tool.name for tool in surface.tools] if surface.assisted else None,
    )


@cache
def versions() -> dict[str, str]:
    return {
        "dayshift": VERSION,
        "gymnasium": version("gymnasium"),
        "httpx": version("httpx"),
        "python": platform.python_version(),
    }


def _record_step(step: Step, policy_version: str | None) -> RecordedStep:
    return RecordedStep(
        number=step.number,
        operation=step.call.operation,
        arguments=to_json_value(step.call.arguments),
        product=step.product,
        method=step.method,
        target=step.target,
        request=encode_text(step.request),
        status=step.status,
        answer=encode_text(step.body),
        revision=step.revision,
        clock=step.clock,
        key=step.key,
        milliseconds=step.milliseconds,
        fault=step.fault,
        policy_version=policy_version,
        actor=step.actor,
    )


def _record_changes(protocol: "EpisodeProtocol") -> tuple[list[RecordedChange] | None, int]:
    return (None, 0) if protocol.diff is None else limit_changes(assign_steps(protocol.diff, protocol.steps))


def to_json_value(value: Any) -> Any:
    """Converts tuples to lists and values that JSON lacks to their repr."""
    if isinstance(value, dict):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def _build_quarantine(fault: HarnessFault | None, verdict: Verdict | None) -> Quarantine | None:
    if fault is not None:
        return Quarantine(blame="harness", kind=fault.kind, because=str(fault))
    if verdict is None:
        return Quarantine(blame="policy", kind="NotSubmitted", because="the episode ended without a verdict")
    return None


def _compute_cost(protocol: "EpisodeProtocol") -> Cost:
    steps = protocol.steps
    request_bytes = sum(len(step.request) + len(step.target) for step in steps)
    answer_bytes = sum(len(step.body) for step in steps)
    return Cost(
        calls=sum(step.sent for step in steps),
        request_bytes=request_bytes,
        answer_bytes=answer_bytes,
        tokens_estimated=(request_bytes + answer_bytes + len(protocol.opened.brief.encode())) // _BYTES_PER_TOKEN,
        wall_seconds=sum(step.milliseconds for step in steps) / 1000,
        virtual_seconds=_seconds_between(protocol.opened.clock, protocol.clock),
    )


def _seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
