"""FaultPlan: failures that are planned, seeded and counted in operations, never in time."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    DELAY = "delay"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    DROPPED = "dropped_connection"
    TIMEOUT_AFTER_COMMIT = "timeout_after_commit"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planned failure at one operation of one episode."""

    kind: FaultKind
    operation: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often each kind strikes, as shares of the operations, and how hard."""

    shares: tuple[tuple[FaultKind, float], ...] = ()
    delay_seconds: float = 0.0
    retry_after: int = 1
    timeout_seconds: float = 0.0
    search_lag: int = 0
    # After this many faults in a row one operation passes: a plan may be rough, not impossible.
    longest_run: int = 2


PLANS = {
    "none": FaultRates(),
    "rough": FaultRates(
        shares=(
            (FaultKind.DELAY, 0.05),
            (FaultKind.RATE_LIMITED, 0.04),
            (FaultKind.UNAVAILABLE, 0.03),
            (FaultKind.DROPPED, 0.01),
            (FaultKind.TIMEOUT_AFTER_COMMIT, 0.01),
        ),
        delay_seconds=0.05,
        timeout_seconds=0.05,
    ),
    "storm": FaultRates(
        shares=(
            (FaultKind.DELAY, 0.15),
            (FaultKind.RATE_LIMITED, 0.12),
            (FaultKind.UNAVAILABLE, 0.10),
            (FaultKind.DROPPED, 0.05),
            (FaultKind.TIMEOUT_AFTER_COMMIT, 0.05),
        ),
        delay_seconds=0.2,
        timeout_seconds=0.2,
        search_lag=3,
    ),
    "lagging-search": FaultRates(search_lag=5),
}


class FaultPlan:
    """The faults of one episode on one product: a pure function of seed, product and operation number."""

    def __init__(self, name: str, seed: int, product: str) -> None:
        if name not in PLANS:
            raise ValueError(f"no fault plan is called {name!r}; there are {', '.join(PLANS)}")
        self.name = name
        self.rates = PLANS[name]
        self._stream = f"{seed}\x1f{product}\x1f{name}"
        self._run = 0

    def strike(self, operation: int) -> Fault | None:
        """Returns the fault of this operation, if any; call it once per operation, in order."""
        kind = self._draw(operation) if self.rates.shares else None
        if kind is None or self._run >= self.rates.longest_run:
            self._run = 0
            return None
        self._run += 1
        return Fault(kind, operation, self._seconds(kind))

    def _draw(self, operation: int) -> FaultKind | None:
        digest = hashlib.sha256(f"{self._stream}\x1f{operation}".encode()).digest()
        fraction = int.from_bytes(digest[:8], "big") / (1 << 64)
        for kind, share in self.rates.shares:
            if fraction < share:
                return kind
            fraction -= share
        return None

    def _seconds(self, kind: FaultKind) -> float:
        if kind is FaultKind.DELAY:
            return self.rates.delay_seconds
        return self.rates.timeout_seconds if kind is FaultKind.TIMEOUT_AFTER_COMMIT else 0.0
