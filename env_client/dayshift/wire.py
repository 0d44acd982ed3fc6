"""The wire between a trainer and control: a pydantic model for each message."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

# Incremented with every change that an older peer cannot read.
WIRE_VERSION = "5"

Outcome = Literal["passed", "failed", "unscored"]
Split = Literal["train", "validation", "test"]


class Message(BaseModel):
    """The base of all messages: immutable, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Budget(Message):
    """The steps and the working hours that an episode may take."""

    steps: int = Field(ge=1)
    hours: float = Field(ge=0)


class Family(Message):
    """A task family: it generates a task for each seed."""

    id: str
    products: list[str]
    split: list[Split]
    title: str
    # The number of different instances in each split; seeds below it are all different, larger ones begin again.
    instances: dict[Split, int]
    budget: Budget
    # What the family's known solutions call, in an assisted episode; the surface `task` is made of it.
    operations: list[str] = []


class Families(Message):
    """`GET /v1/tasks`."""

    families: list[Family]


class OpenRequest(Message):
    """`POST /v1/episodes`; without a task the episode is free play."""

    task: Annotated[str, Field(max_length=200)] | None
    seed: int = Field(default=0, ge=0, lt=2**63)
    split: Split = "train"
    world: str = Field(default="standard", max_length=100)
    faults: str = Field(default="none", max_length=100)
    # Adds the task's candidate calls to the answer, for policies that choose among calls.
    menu: bool = False
    # Lets the agent have the tool surface `task`, which shows what known solutions use; every record says so.
    assisted: bool = False


Label = Annotated[str, Field(max_length=200)]


class PolicyLabels(Message):
    """Who plays an episode, for the ledger and the console alone: no agent sees it, and no draw depends on it."""

    policy: Label | None = None
    policy_version: Label | None = None

    @classmethod
    def cut(cls, policy: str | None, policy_version: str | None) -> "PolicyLabels":
        """Labels of names of any length."""
        return cls(policy=policy and policy[:200], policy_version=policy_version and policy_version[:200])


class LabelledRequest(OpenRequest, PolicyLabels):
    """The body of `POST /v1/episodes`: the request, and who plays where that is known."""

    @classmethod
    def of(cls, request: OpenRequest, labels: PolicyLabels) -> "LabelledRequest":
        return cls(**request.model_dump(), **labels.model_dump())

    def parts(self) -> tuple[OpenRequest, PolicyLabels]:
        """The request alone, which equals any other at the same instance, and the labels."""
        values = self.model_dump()
        labels = {name: values.pop(name) for name in PolicyLabels.model_fields}
        return OpenRequest(**values), PolicyLabels(**labels)


class MenuItem(Message):
    """A candidate call, which may help, harm or do nothing."""

    operation: str
    arguments: dict[str, JsonValue]


class ProductAccess(Message):
    """The URLs and the credential of a product in one episode."""

    base_url: str
    credential: str = Field(repr=False)
    openapi_url: str


class McpAccess(Message):
    """Where an MCP client finds the tools of all products of one episode, and the credential that opens them."""

    url: str
    credential: str = Field(repr=False)


class Opened(Message):
    """The answer to `POST /v1/episodes`: the open episode."""

    episode_id: str
    task: str | None
    seed: int
    brief: str
    budget: Budget | None
    products: dict[str, ProductAccess]
    fingerprint: str
    clock: str
    # The fingerprint of the stack's secret salt, where it has one.
    salt: str | None = None
    # The JSON schema of the answer that `submit` takes, where the task asks for one.
    answer_schema: dict[str, JsonValue] | None = None
    # In random order; only where the request asks for it and the task has one.
    menu: list[MenuItem] | None = None
    mcp: McpAccess | None = None


class AccessQuery(Message):
    """`POST /v1/access`: asks what a credential of an agent opens."""

    credential: str = Field(min_length=1, max_length=512, repr=False)


class AgentAccess(Message):
    """The answer to `POST /v1/access`: the products that a credential opens, at the addresses that services use."""

    episode_id: str
    products: dict[str, ProductAccess]
    seed: int = 0
    answer_schema: dict[str, JsonValue] | None = None
    # What the family's known solutions call, in an assisted episode; the surface `task` is made of it.
    operations: list[str] = []
    # The playground has nothing to finish, and nobody there answers later.
    can_finish: bool = True


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
    """The new time, the number of changes that became visible in each product, and what came in, in words."""

    clock: str
    visible: dict[str, int]
    news: list[str] = []


class SubmitRequest(Message):
    """`POST /v1/episodes/{id}/submit`."""

    answer: JsonValue = None


class Finding(Message):
    """The result of one check."""

    check: str
    product: str
    weight: float
    score: float
    held: bool
    because: str


class Collateral(Message):
    """A changed row that no check allows."""

    product: str
    table: str
    id: int | str
    fields: list[str]
    because: str
    # Its weight in the reward, in stray edits.
    harm: float = 1.0


class InjectedFault(Message):
    """A planned fault that struck a request."""

    product: str
    kind: str
    operation: int


class Flag(Message):
    """A suspicious pattern with its evidence; exports for training leave flagged episodes out."""

    tag: str
    evidence: str


class Harm(Message):
    """Something that the agent damaged; the weight counts stray edits."""

    weight: float
    because: str


class Breakdown(Message):
    """The numbers of the reward: earned * efficiency * precision - (1 - precision)."""

    earned: float
    efficiency: float
    precision: float
    # The sum of all harms, in stray edits.
    harm: float = 0.0
    slips: int = 0
    steps_beyond_par: int = 0
    harms: list[Harm] = []


class Verdict(Message):
    """The result of an episode. `reward` is None if and only if the episode is unscored."""

    outcome: Outcome
    reward: float | None
    # Why the episode did not pass, or why one that passed earned less than 1.
    because: str | None = None
    findings: list[Finding] = []
    collateral: list[Collateral] = []
    faults: list[InjectedFault] = []
    flags: list[Flag] = []
    steps: int = 0
    clock: str = ""
    # As in `Opened`: verdicts of the same task and seed are comparable where this is the same.
    salt: str | None = None
    # None for an unscored episode, and in recordings that are older than wire version 4.
    breakdown: Breakdown | None = None


class Closed(Message):
    """`POST /v1/episodes/{id}/close`."""

    episode_id: str
    outcome: Outcome
    because: str | None


class ChangeOut(Message):
    """One write of one row."""

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
    """One step as the product served it."""

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
    """`GET /v1/report`: how the episodes since `since` ended, and the share of environment failures."""

    since: str | None
    episodes: int
    outcomes: dict[str, int]
    open: int
    # Episodes in which the environment failed, over all that ended without free play and abandoned ones.
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


class PlaygroundAccess(Message):
    """How people reach one product of the playground."""

    title: str
    state: str
    base_url: str
    openapi_url: str
    # Any of them is accepted: the bare one, and those in the vendor's own form.
    credentials: list[str]


class Playground(Message):
    """`GET /v1/playground`: the standing free play."""

    products: dict[str, PlaygroundAccess]


Person = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]


class PersonRequest(Message):
    """`POST /v1/episodes/{id}/pause`, `…/resume` and `…/take-over`: who asks for it, for the audit log."""

    person: Person


class CloseRequest(Message):
    """`POST /v1/episodes/{id}/close`; a trainer closes without a name."""

    person: Person | None = None


class LiveEpisode(Message):
    """An open episode, as of the watchdog's last look."""

    episode_id: str
    task: str | None
    seed: int
    split: Split
    world: str
    faults: str
    brief: str
    products: list[str]
    steps: int
    budget: Budget | None
    clock: str
    revisions: dict[str, int]
    idle_seconds: float
    # Seconds until it is closed as abandoned; None while a person holds it, and where it has no lease.
    lease_left: float | None
    # Who holds the agent back, and whether they work in its place.
    held_by: str | None = None
    taken_over: bool = False
    because: str | None = None


class ServiceState(Message):
    """One process of a product."""

    product: str
    instance: str
    url: str
    harness_url: str
    state: str
    episodes: int


class LiveOverview(Message):
    """`GET /v1/live`: what is open, and what serves it."""

    episodes: list[LiveEpisode]
    services: list[ServiceState]
    max_episodes: int
    lease_seconds: float


class TailRequest(Message):
    """`POST /v1/episodes/{id}/tail`: by product, the step and the revision that are known already."""

    after: dict[str, tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]] = {}


class Tail(Message):
    """Steps and changes since the marks, in bounded portions, and the marks to read on from."""

    episode_id: str
    steps: list[TrajectoryStep]
    changes: dict[str, list[ChangeOut]]
    next: dict[str, tuple[int, int]]
    state: EpisodeState


class TakenOver(Message):
    """The answer to `take-over`: what the agent was given, with a credential of the person's own."""

    episode_id: str
    task: str | None
    brief: str
    budget: Budget | None
    products: dict[str, ProductAccess]
    clock: str
    answer_schema: dict[str, JsonValue] | None = None


class Approval(Message):
    """Something that waits for a person: an agent has asked a colleague, whom a person plays."""

    approval_id: str
    episode_id: str
    task: str | None
    # The product's ids of the colleague and of the thread, and what the agent wrote.
    colleague: int
    thread: int
    note: str
    # What may not be created before it is approved.
    gates: list[str]
    # What the colleague would write: the text of an approval.
    reply: str
    clock: str
    asked_at: str


class Approvals(Message):
    """`GET /v1/approvals`."""

    approvals: list[Approval]


class DecisionRequest(Message):
    """`POST /v1/approvals/{id}`."""

    person: Person
    decision: Literal["approve", "decline"]
    # What the colleague writes on the thread in place of the task's own words.
    note: Annotated[str, Field(max_length=5000)] = ""


class AuditEvent(Message):
    """Something that happened to an episode or a product, and the person who did it, where one did."""

    at: str
    kind: str
    episode_id: str | None
    product: str | None
    person: str | None
    because: str


class Audit(Message):
    """`GET /v1/audit`: the last events, the latest first."""

    events: list[AuditEvent]


class Reviews(Message):
    """`GET /v1/reviews`: what people said in the console, in the order of saving; `dayshift.review.store.Review`."""

    reviews: list[dict[str, JsonValue]]
    # Where the next page begins, as `after`; None at the end.
    next: int | None


class Problem(Message):
    """The body of every error response of control."""

    error: str
    message: str
    retry_after: int | None = None
    open_episodes: int | None = None
    max_episodes: int | None = None
