"""The JSON that crosses `/api`: one TypedDict for each message."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

# A trajectory in its JSON form; recordings of older versions lack some fields.
Record = Mapping[str, Any]
Outcome = Literal["passed", "failed", "unscored"]
# Why a step stands out: a planned fault, a refusal of the product, a call that was not sent, the same call again, or a
# failure of the environment.
LaneKind = Literal["fault", "refusal", "malformed", "retry", "error"]
TextPart = Literal["request", "answer"]


class EpisodeSummary(TypedDict):
    """One row of the list, and what dashboards and samples are computed from."""

    key: str
    run: str
    episode_id: str
    family: str
    products: list[str]
    split: str
    seed: int
    world: str
    # The fault plan, and the kinds of the faults that struck.
    faults: str
    struck: list[str]
    policy: str
    version: str
    outcome: Outcome
    reward: float | None
    because: str
    # Who is to blame where there is no reward: harness, policy, caller or provider.
    blame: str
    flags: list[str]
    steps: int
    calls: int
    refusals: int
    errors: int
    retries: int
    malformed: int
    changed_rows: int
    tokens: int
    cost: float | None
    wall_seconds: float
    virtual_seconds: float
    group: str
    attempt: int
    brief: str
    clock: str
    earned: float | None
    harm: float | None
    efficiency: float | None
    goals_held: int
    goals: int
    # The mean of the customers' ratings, from 0 (bad) to 1 (good); None where nobody rated.
    rating: float | None
    operations: dict[str, int]
    # The first refusal or failure, with ids and numbers removed, for clusters.
    first_error: str
    labels: list[str]


class StepHead(TypedDict):
    """What the slider and the lanes show of a step."""

    number: int
    operation: str
    product: str
    method: str
    status: int
    clock: str
    milliseconds: float
    actor: str
    fault: str | None
    lane: LaneKind | None
    bytes: int
    # How many rows changed, by who changed them.
    changes: dict[str, int]


class StepBody(TypedDict):
    """A step with its texts, each cut after 64 KiB."""

    number: int
    operation: str
    arguments: Any
    product: str
    method: str
    target: str
    status: int
    clock: str
    revision: int | None
    key: str
    milliseconds: float
    fault: str | None
    actor: str
    request: str
    request_bytes: int
    answer: str
    answer_bytes: int


class RowChange(TypedDict):
    """One write of one row."""

    product: str
    step: int
    revision: int
    at: str
    actor: str
    event: str
    table: str
    id: int | str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class RowLink(TypedDict):
    """A row and the last step that changed it; for an unchanged one, the last step that met it, and no table."""

    product: str
    table: str
    id: int | str
    step: int | None
    changed: bool


class FindingView(TypedDict):
    """A finding with the rows that it is about; the note says what they are, or that there is none."""

    check: str
    product: str
    weight: float
    score: float
    held: bool
    because: str
    rows: list[RowLink]
    note: str


class CollateralView(TypedDict):
    """A changed row that nothing allows, with its images at the beginning and at the end."""

    product: str
    table: str
    id: int | str
    fields: list[str]
    because: str
    harm: float
    step: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class FlagView(TypedDict):
    tag: str
    evidence: str
    rows: list[RowLink]


class WaterfallBar(TypedDict):
    """One bar of the waterfall: it goes from `start` to `end`."""

    label: str
    detail: str
    start: float
    end: float
    kind: Literal["goal", "cost", "harm", "total"]


class Waterfall(TypedDict):
    """The reward with its numbers; `derived` where a recording lacks them and they were computed back."""

    formula: str
    bars: list[WaterfallBar]
    derived: bool


class ModelTurnView(TypedDict):
    """What the model wrote in one reply; steps `first` to `last` are the calls that it asked for.

    A reply that led to no step has a `last` before its `first`: words alone, or searches for tools, which `calls` has.
    """

    text: str
    reasoning: str
    calls: list[str]
    first: int
    last: int
    input_tokens: int
    output_tokens: int
    seconds: float
    finish_reason: str


class EpisodeDetail(TypedDict):
    """One episode without the texts of its steps and without the images of its rows."""

    summary: EpisodeSummary
    brief: str
    manifest: dict[str, Any]
    verdict: dict[str, Any] | None
    quarantine: dict[str, Any] | None
    waterfall: Waterfall | None
    findings: list[FindingView]
    collateral: list[CollateralView]
    flags: list[FlagView]
    cost: dict[str, Any]
    heads: list[StepHead]
    # The orchestrator's turns, in a team.
    turns: list[dict[str, Any]]
    rewards: dict[str, float]
    model: dict[str, Any] | None
    model_turns: list[ModelTurnView]
    has_changes: bool
    changes_cut: int
    previous: str | None
    next: str | None


class EpisodeQuery(TypedDict, total=False):
    """Filters, order and window of the list; a list of values means any of them."""

    run: list[str]
    family: list[str]
    product: list[str]
    split: list[str]
    seed: list[str]
    policy: list[str]
    version: list[str]
    outcome: list[str]
    flag: list[str]
    # Only episodes with a flag, whichever it is.
    flagged: bool
    fault: list[str]
    label: list[str]
    # Keys that the labels were resolved to; a source need not know reviews.
    keys: list[str]
    group: list[str]
    q: str
    min_steps: int
    max_steps: int
    min_reward: float
    max_reward: float
    sort: str
    offset: int
    limit: int


class Facet(TypedDict):
    value: str
    count: int


class EpisodePage(TypedDict):
    """A window of the episodes that match, and the counts of all that match."""

    total: int
    offset: int
    rows: list[EpisodeSummary]
    # passed, failed, unscored, flagged.
    counts: dict[str, int]
    environment_failures: int
    failure_rate: float
    failure_rate_limit: float
    # The values of each filter over all episodes, with their numbers.
    facets: dict[str, list[Facet]]


class RunRow(TypedDict):
    """One folder of recordings, or one run of the ledger."""

    run: str
    episodes: int
    passed: int
    failed: int
    unscored: int
    flagged: int
    mean_reward: float | None
    # The share of episodes that the environment spoiled.
    failure_rate: float
    tokens: int
    # Dollars; None where no recording holds a price.
    cost: float | None
    # Each policy with its version, or with the number of its versions.
    policies: list[str]
    # Lines that are no trajectory.
    unreadable: int


class GroupRow(TypedDict):
    """All attempts at one instance."""

    group: str
    family: str
    seed: int
    split: str
    attempts: int
    scored: int
    passed: int
    pass_at_k: float | None
    pass_power_k: float | None
    k: int
    mean_reward: float | None
    # The range of the rewards; a group without one teaches a trainer nothing.
    spread: float | None
    zero_spread: bool
    keys: list[str]
    rewards: list[float | None]


class AlignedCall(TypedDict):
    """One line of a comparison: the step on each side, or None where only the other side made the call."""

    left: StepHead | None
    right: StepHead | None
    kind: Literal["same", "changed", "left", "right"]
    # Whether the answers are the same, where the calls are.
    same_answer: bool
    left_arguments: Any
    right_arguments: Any


class RowDifference(TypedDict):
    """A row that ended differently in the two worlds; None where an episode did not touch it or removed it."""

    product: str
    table: str
    id: int | str
    left: dict[str, Any] | None
    right: dict[str, Any] | None
    left_touched: bool
    right_touched: bool
    before: dict[str, Any] | None


class Comparison(TypedDict):
    """Two attempts side by side."""

    left: EpisodeSummary
    right: EpisodeSummary
    same_instance: bool
    same_world: bool
    calls: list[AlignedCall]
    # The index in `calls` of the first that differs; None where all are the same.
    first_divergence: int | None
    rows: list[RowDifference]
    rows_known: bool


class IndexProgress(TypedDict):
    """How far the index is; `searchable` counts the episodes whose texts can be searched."""

    episodes: int
    total: int | None
    searchable: int
    done: bool
