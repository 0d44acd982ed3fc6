"""What a product answers through the harness API, as types."""

from typing import Any, NotRequired, TypedDict

from services.kernel.statements import Key


class FaultReply(TypedDict):
    """One injected fault."""

    kind: str
    operation: int
    seconds: float


class StateReply(TypedDict):
    """How an episode stands in this product."""

    episode_id: str
    steps: int
    revision: int
    planted: int
    clock_ms: int
    broken: str | None
    broken_by_agent: bool
    faults: list[FaultReply]
    unknown_credentials: int
    idle_seconds: float
    instance: str


class FlagReply(TypedDict):
    """Something suspicious that a check came across."""

    tag: str
    evidence: str


class FindingReply(TypedDict):
    """What a check found; the score is an exact fraction as text, because a float would round it."""

    check: str
    score: str
    held: bool
    because: str
    flags: list[FlagReply]
    names: tuple[str, ...]
    # Present and true where the check broke instead of finding anything.
    unanswered: NotRequired[bool]


class ChangeReply(TypedDict):
    """One change; images are JSON text, which whoever needs one reads, or rows in the reply to `/diff`."""

    revision: int
    at: int
    actor: str
    event: str
    table: str
    id: Key
    before: Any
    after: Any


class NetChangeReply(TypedDict):
    """What an episode did to one row altogether."""

    table: str
    id: Key
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class HistoryReply(TypedDict):
    """All changes since the task was planted."""

    history: list[ChangeReply]
    net: NotRequired[list[NetChangeReply]]


class StepReply(TypedDict):
    """One call of the agent as it was served."""

    operation: str
    method: str
    path: str
    query: str
    request: str
    status: int
    answer: str
    revision: int
    clock_ms: int
    fault: str | None
    milliseconds: float
    key: str | None
    replayed: bool


class AdvanceReply(StateReply):
    """The state after time passed, and the number of changes that it made."""

    changes: int


class NewsReply(TypedDict):
    """What came in, one sentence each."""

    news: list[str]


class DiffReply(StateReply):
    """The state and all changes."""

    changes: HistoryReply


class ClosedReply(StateReply):
    """The last state of an episode, with everything that a verdict needs."""

    trajectory: list[StepReply]
    changes: HistoryReply


class VerifyReply(StateReply):
    """The state with findings and changes; with the trajectory where the episode was closed."""

    findings: list[FindingReply]
    changes: HistoryReply
    trajectory: NotRequired[list[StepReply]]


class FindingsReply(TypedDict):
    """Findings alone."""

    findings: list[FindingReply]
    broken: str | None


class ActorAnswerReply(TypedDict):
    """The product's answer to one request of an actor."""

    status: int
    body: str


class ActorAnswersReply(TypedDict):
    """The answers in the order of the requests."""

    answers: list[ActorAnswerReply]
    clock_ms: int


class TrajectoryReply(TypedDict):
    """The agent's calls so far."""

    steps: list[StepReply]


class HealthReply(TypedDict):
    """Whether the process is sound, and what it holds."""

    status: str
    because: str | None
    product: str
    instance: str
    episodes: int
    worlds: dict[str, str]


class EpisodeSummaryReply(TypedDict):
    """One open episode, as control's watch needs it."""

    episode_id: str
    idle_seconds: float
    broken: str | None
    broken_by_agent: bool
    leased: bool
    steps: int
    revision: int
    clock_ms: int
    held: bool


class TailReply(TypedDict):
    """The agent's calls and the changes after a mark, and the mark to read on from."""

    steps: list[StepReply]
    changes: list["ChangeReply"]
    next_step: int
    next_revision: int
    state: StateReply


class SummaryReply(TypedDict):
    """All open episodes of this process."""

    instance: str
    episodes: list[EpisodeSummaryReply]
