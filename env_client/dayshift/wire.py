"""The control wire: every message between a trainer and control, as a type."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

# Raised with every change that an older peer cannot read.
WIRE_VERSION = "2"

Outcome = Literal["passed", "failed", "unscored"]
Split = Literal["train", "validation", "test"]


class Message(BaseModel):
    """Frozen, and refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Budget(Message):
    """How much an attempt may cost."""

    steps: int = Field(ge=1)
    hours: float = Field(ge=0)


class Family(Message):
    """A generator of tasks."""

    id: str
    products: list[str]
    split: list[Split]
    title: str
    instances: int
    budget: Budget


class Families(Message):
    """`GET /v1/tasks`."""

    families: list[Family]


class OpenRequest(Message):
    """`POST /v1/episodes`; no task means free play."""

    task: Annotated[str, Field(max_length=200)] | None
    seed: int = Field(default=0, ge=0, lt=2**63)
    split: Split = "train"
    world: str = Field(default="standard", max_length=100)
    faults: str = Field(default="none", max_length=100)
    # Also hand over the task's candidate calls, for policies that choose rather than write.
    menu: bool = False


class MenuItem(Message):
    """A candidate call; whether it helps, harms or does nothing is for the policy to find out."""

    operation: str
    arguments: dict[str, JsonValue]


class ProductAccess(Message):
    """Where a product answers, and with what."""

    base_url: str
    credential: str = Field(repr=False)
    openapi_url: str


class Opened(Message):
    """The episode that was opened."""

    episode_id: str
    task: str | None
    seed: int
    brief: str
    budget: Budget | None
    products: dict[str, ProductAccess]
    fingerprint: str
    clock: str
    # What the answer given to `submit` must look like (a JSON schema), where the task asks for one.
    answer_schema: dict[str, JsonValue] | None = None
    # In an order that says nothing; only where it was asked for and the task has one.
    menu: list[MenuItem] | None = None


class EpisodePhase(StrEnum):
    OPEN = "open"
    JUDGED = "judged"
    CLOSED = "closed"


class EpisodeState(Message):
    """`GET /v1/episodes/{id}`."""

    episode_id: str
    task: str | None
    state: EpisodePhase
    outcome: Outcome | None
    because: str | None
    steps: int
    clock: str
    revisions: dict[str, int]


class WaitRequest(Message):
    """`POST /v1/episodes/{id}/wait`."""

    hours: float = Field(gt=0, le=24 * 366)


class Waited(Message):
    """The new time, and how much became visible in each product."""

    clock: str
    visible: dict[str, int]


class SubmitRequest(Message):
    """`POST /v1/episodes/{id}/submit`."""

    answer: JsonValue = None


class Finding(Message):
    """What one check found."""

    check: str
    product: str
    weight: float
    score: float
    held: bool
    because: str


class Collateral(Message):
    """A change that no check allows."""

    product: str
    table: str
    id: int | str
    fields: list[str]
    because: str
    # In stray edits: what it weighs in the reward.
    harm: float = 1.0


class InjectedFault(Message):
    """A planned failure that struck."""

    product: str
    kind: str
    operation: int


class Flag(Message):
    """A suspicion with its evidence; a flagged episode stays out of training exports."""

    tag: str
    evidence: str


class Verdict(Message):
    """All findings of an episode. `reward` is None if and only if the episode is unscored."""

    outcome: Outcome
    reward: float | None
    because: str | None = None
    findings: list[Finding] = []
    collateral: list[Collateral] = []
    faults: list[InjectedFault] = []
    flags: list[Flag] = []
    steps: int = 0
    clock: str = ""


class Closed(Message):
    """`POST /v1/episodes/{id}/close`."""

    episode_id: str
    outcome: Outcome
    because: str | None


class ChangeOut(Message):
    """One row written once."""

    revision: int
    at: str
    actor: str
    event: str
    table: str
    id: int | str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Diff(Message):
    """`GET /v1/episodes/{id}/diff`: changes by product, in order."""

    products: dict[str, list[ChangeOut]]


class TrajectoryStep(Message):
    """One step as served."""

    product: str
    operation: str
    method: str
    path: str
    query: str
    request: str
    status: int
    answer: str
    revision: int
    clock: str
    fault: str | None
    milliseconds: float
    key: str | None
    replayed: bool


class Trajectory(Message):
    """`GET /v1/episodes/{id}/trajectory`."""

    episode_id: str
    steps: list[TrajectoryStep]


class Report(Message):
    """`GET /v1/report`: how the episodes since then ended, and how often that was our fault."""

    since: str | None
    episodes: int
    outcomes: dict[str, int]
    open: int
    # Unscored through a failure of ours, over all that ended; free play and abandoned episodes are neither.
    failure_rate: float
    causes: dict[str, int]
    faults_injected: dict[str, int]


class Health(Message):
    """`GET /health`."""

    status: Literal["ok", "degraded"]
    products: dict[str, str]
    worlds: dict[str, dict[str, str]]
    ledger: str = "ok"
    registry: str = "ok"
    wire: str = WIRE_VERSION


class Problem(Message):
    """Any answer of control that is not a success."""

    error: str
    message: str
    retry_after: int | None = None
    open_episodes: int | None = None
    max_episodes: int | None = None
