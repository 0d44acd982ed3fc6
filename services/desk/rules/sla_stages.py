"""The stage of each target after a change: its clock runs, pauses, or the target is achieved."""

from dataclasses import dataclass
from typing import assert_never

from services.desk.rows.tickets import Metric, Stage, Status, TicketBody

_DONE = ("solved", "closed")
# Metrics whose clock goes on where it stopped when a solved ticket comes back.
LASTING = frozenset({"agent_work_time", "requester_wait_time", "total_resolution_time"})
_UPDATES = frozenset({"periodic_update_time", "pausable_update_time"})


@dataclass(frozen=True, slots=True)
class Update:
    """A change as targets see it."""

    status: Status
    is_creation: bool
    # A public comment by staff.
    has_reply: bool
    # A public comment by the customer.
    has_question: bool
    has_first_reply: bool

    @property
    def is_done(self) -> bool:
        return self.status in _DONE


def next_stage(metric: Metric, stage: Stage, update: Update) -> Stage:
    """An idle target waits for something to start its clock."""
    if update.is_done:
        return "idle" if stage == "idle" else "achieved"
    match metric:
        case "first_reply_time":
            return "achieved" if update.has_first_reply else "active"
        case "next_reply_time":
            return _next_reply_stage(stage, update)
        case "periodic_update_time":
            return "active" if update.has_first_reply else "idle"
        case "pausable_update_time":
            return _pause_in(update, "pending") if update.has_first_reply else "idle"
        case "agent_work_time":
            return _pause_in(update, "pending", "hold")
        case "requester_wait_time":
            return _pause_in(update, "pending")
        case "total_resolution_time":
            return "active"
        case _:
            assert_never(metric)


def restarts(metric: Metric, update: Update) -> bool:
    """Every reply that the customer gets starts the wait for the next one."""
    return metric in _UPDATES and update.has_reply and not update.is_done


def _next_reply_stage(stage: Stage, update: Update) -> Stage:
    if update.has_question and update.has_first_reply and not update.is_creation:
        return "active"
    if update.has_reply and stage != "idle":
        return "achieved"
    return stage


def _pause_in(update: Update, *statuses: Status) -> Stage:
    return "paused" if update.status in statuses else "active"


def measure_elapsed_before(metric: Metric, body: TicketBody) -> int:
    """Returns the milliseconds that count before the target was set: a ticket may change its policy late."""
    metrics = body["metrics"]
    match metric:
        case "requester_wait_time":
            return int(metrics.get("requester_wait_ms") or 0)
        case "agent_work_time":
            return int((metrics.get("requester_wait_ms") or 0) - (metrics.get("on_hold_ms") or 0))
    return 0
