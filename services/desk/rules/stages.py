"""Where each promise stands after a change: its clock runs, pauses, or is kept."""

from dataclasses import dataclass
from typing import Any, Literal

Stage = Literal["active", "paused", "achieved", "idle"]
_DONE = ("solved", "closed")
# Promises whose clock goes on where it stopped when a solved ticket comes back.
LASTING = frozenset({"agent_work_time", "requester_wait_time", "total_resolution_time"})
_UPDATES = frozenset({"periodic_update_time", "pausable_update_time"})


@dataclass(frozen=True, slots=True)
class Moment:
    """A change as promises see it."""

    status: str
    is_creation: bool
    # A public comment by staff; by the customer.
    replied: bool
    asked: bool
    has_first_reply: bool

    @property
    def is_done(self) -> bool:
        return self.status in _DONE


def wanted(metric: str, held: Stage, moment: Moment) -> Stage:
    """Idle is a promise that nothing asks for yet."""
    if moment.is_done:
        return "idle" if held == "idle" else "achieved"
    match metric:
        case "first_reply_time":
            return "achieved" if moment.has_first_reply else "active"
        case "next_reply_time":
            return _next_reply(held, moment)
        case "periodic_update_time":
            return "active" if moment.has_first_reply else "idle"
        case "pausable_update_time":
            return _paused(moment, "pending") if moment.has_first_reply else "idle"
        case "agent_work_time":
            return _paused(moment, "pending", "hold")
        case "requester_wait_time":
            return _paused(moment, "pending")
    return "active"


def restarts(metric: str, moment: Moment) -> bool:
    """Every update that the customer gets begins the wait for the next one."""
    return metric in _UPDATES and moment.replied and not moment.is_done


def _next_reply(held: Stage, moment: Moment) -> Stage:
    if moment.asked and moment.has_first_reply and not moment.is_creation:
        return "active"
    if moment.replied and held != "idle":
        return "achieved"
    return held


def _paused(moment: Moment, *statuses: str) -> Stage:
    return "paused" if moment.status in statuses else "active"


def begun(metric: str, body: dict[str, Any]) -> int:
    """Milliseconds that have passed on a clock before its promise was made: a ticket may change its policy late."""
    metrics = body["metrics"]
    match metric:
        case "requester_wait_time":
            return int(metrics.get("requester_wait_ms") or 0)
        case "agent_work_time":
            return int((metrics.get("requester_wait_ms") or 0) - (metrics.get("on_hold_ms") or 0))
    return 0
