"""Observation and Info: what the agent sees, and what the trainer sees in addition."""

from typing import Any, NotRequired, TypedDict

import numpy as np

from dayshift.answer_text import fit_answer
from dayshift.episode_protocol import EpisodeProtocol
from dayshift.operations import Operation
from dayshift.spaces import MAX_BRIEF_CHARS, UNLIMITED_STEPS, shorten
from dayshift.step import Step
from dayshift.trajectory import Turn
from dayshift.wire import Verdict


class Observation(TypedDict):
    """What the agent sees. Status 0 means that no call was sent yet, or that there is no answer."""

    brief: str
    status: np.int64
    body: str
    clock: str
    steps_left: np.ndarray[Any, np.dtype[np.int64]]


class Info(TypedDict):
    """What the trainer sees in addition. The same calls in the same episode give the same info.

    No value is None, nor is one inside: what does not apply is absent, as Gymnasium's vectors and trainers need it.
    """

    task: str
    seed: int
    split: str
    # The fingerprint of the worlds that the episode started from.
    fingerprint: str
    # The operation of this step; empty after reset.
    operation: str
    # The product's revision after this step; absent where no product answered.
    revision: NotRequired[int]
    # The product declined the call, or the call was malformed: an ordinary answer.
    refused: bool
    # The planned fault that struck this call, where one did.
    fault: NotRequired[str]
    # The body was longer than an observation may be and was cut.
    shortened: bool
    # A supervisor replaced or vetoed a call, or took over. Do not learn from it.
    intervened: NotRequired[bool]
    # The verdict with all its findings, at the end of a scored episode.
    verdict: NotRequired[dict[str, Any]]
    # Why the episode has no reward; only with on_fault="quarantine". Do not learn from it.
    quarantined: NotRequired[str]


def build_observation(
    brief: str,
    step: Step | Turn | None,
    clock: str,
    steps_left: int | None,
    max_body_chars: int,
    operation: Operation | None = None,
) -> Observation:
    return Observation(
        brief=shorten(brief, MAX_BRIEF_CHARS),
        status=np.int64(0 if step is None else step.status),
        body="" if step is None else fit_answer(step.text, max_body_chars, operation),
        clock=clock,
        steps_left=np.array(UNLIMITED_STEPS if steps_left is None else steps_left, dtype=np.int64),
    )


def build_info(
    protocol: EpisodeProtocol,
    step: Step | None,
    max_body_chars: int,
    verdict: Verdict | None = None,
    quarantined: str | None = None,
) -> Info:
    request = protocol.request
    info = Info(
        task=request.task or "",
        seed=request.seed,
        split=request.split,
        fingerprint=protocol.opened.fingerprint,
        operation="" if step is None else step.call.operation,
        refused=step is not None and step.refused,
        shortened=step is not None and len(step.text) > max_body_chars,
    )
    if step is not None and step.revision is not None:
        info["revision"] = step.revision
    if step is not None and step.fault is not None:
        info["fault"] = step.fault
    if any(intervention.changed_call for intervention in protocol.interventions):
        info["intervened"] = True
    if verdict is not None:
        info["verdict"] = dump_verdict(verdict)
    if quarantined is not None:
        info["quarantined"] = quarantined
    return info


def dump_verdict(verdict: Verdict) -> dict[str, Any]:
    """Returns a verdict as it stands in `info`: fields without a value are absent."""
    return verdict.model_dump(exclude_none=True)
