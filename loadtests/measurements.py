"""What a run measured: every request with the time it was due, and what went wrong."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_KEPT = 50
_LONG_RUNNING = frozenset({"control submit", "ide execute"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One request: due, sent and answered, in seconds from the start of the run."""

    name: str
    due: float
    sent: float
    done: float
    is_error: bool

    @property
    def milliseconds(self) -> float:
        """From when it was due, not from when it was sent: a queue in front of the server is the server's doing."""
        return (self.done - self.due) * 1000

    @property
    def is_short(self) -> bool:
        return self.name not in _LONG_RUNNING

    @property
    def service_milliseconds(self) -> float:
        return (self.done - self.sent) * 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """An episode script that ended with an unexpected response."""

    at: float
    episode: str
    what: str


@dataclass
class Recorder:
    """Collects while the run goes on."""

    samples: list[Sample] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    violations: list[Failure] = field(default_factory=list)
    episodes_played: int = 0


@dataclass(frozen=True, slots=True)
class Distribution:
    """How long requests took, in milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float
    p999: float
    longest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Distribution":
        ordered = sorted(values)
        if not ordered:
            return cls(0, math.nan, math.nan, math.nan, math.nan, math.nan)
        return cls(len(ordered), *(_percentile(ordered, share) for share in (0.50, 0.95, 0.99, 0.999, 1.0)))


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """What the run cost the stack, and the generator beside it."""

    cpu_us_per_request: float | None
    memory_mb: float | None
    memory_growth: float | None
    generator_cpu_share: float
    open_files: int | None = None
    # µs of each process, over all requests of the run.
    cpu_by_service: dict[str, float] = field(default_factory=dict)
    # MB of each at the end, and by how many MB it grew after the first quarter.
    memory_by_service: dict[str, float] = field(default_factory=dict)
    growth_by_service: dict[str, float] = field(default_factory=dict)
    # Of all cores, by everybody on the machine: short-lived programs in sandboxes, neighbours.
    machine_cpu_share: float | None = None
    # By how much the generator's own loop was late, at the 99th percentile: no response time is truer than that.
    generator_late_ms: float | None = None


@dataclass(frozen=True)
class Summary:
    """A run in figures."""

    shape: str
    target: str
    world: str
    users: int
    episodes_at_once: int
    seconds: float
    offered: int
    qps: float
    responses: Distribution
    # Without those that last as long as what they ask for: a verdict after days have passed, an agent's own program.
    prompt: Distribution
    service: Distribution
    by_name: dict[str, Distribution]
    errors: int
    stale_reads: int
    episodes_played: int
    # Open when the run was over and everybody had left: leaked.
    episodes_left: int
    error_kinds: dict[str, int]
    violations: list[str]
    resources: ResourceUse
    timeline: list[dict[str, float]]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def timeline(samples: Iterable[Sample], bucket: float = 1.0) -> list[dict[str, float]]:
    """Requests and latency second by second."""
    slots: dict[int, list[Sample]] = {}
    for sample in samples:
        slots.setdefault(int(sample.due / bucket), []).append(sample)
    seconds = []
    for slot in sorted(slots):
        spread = Distribution.of(sample.milliseconds for sample in slots[slot])
        errors = sum(sample.is_error for sample in slots[slot])
        seconds.append(
            {"at": slot * bucket, "qps": spread.count / bucket, "p50": spread.p50, "p99": spread.p99, "errors": errors}
        )
    return seconds


def count_kinds(failures: Iterable[Failure]) -> dict[str, int]:
    return dict(Counter(failure.what for failure in failures).most_common(_KEPT))


def distributions_by_name(samples: Iterable[Sample]) -> dict[str, Distribution]:
    names: dict[str, list[float]] = {}
    for sample in samples:
        names.setdefault(sample.name, []).append(sample.milliseconds)
    return {name: Distribution.of(names[name]) for name in sorted(names)}
