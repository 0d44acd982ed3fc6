"""What is known of an ended episode before it is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dayshift.wire import InjectedFault

from services.control.customers.actors import Decision, Outcome
from services.control.effort import EpisodeStep
from services.control.recorded_change import RecordedChange
from services.kernel.harness_replies import FindingReply


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the products report of an episode: answers to the task's questions in their order, all writes, all steps."""

    findings: Mapping[str, Sequence[FindingReply]]
    history: Mapping[str, Sequence[RecordedChange]]
    faults: list[InjectedFault]
    steps: int
    clock: str
    trajectory: Sequence[EpisodeStep] = ()
    # Requests from the agent's address that carried a credential which opens nothing.
    unknown_credentials: int = 0
    # How it ended for the customers of the task.
    customers: Sequence[Outcome] = ()
    # What colleagues had to approve before it was done.
    decisions: Sequence[Decision] = ()
