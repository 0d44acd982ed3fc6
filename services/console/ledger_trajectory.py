"""Makes a trajectory of the ledger's rows, so that the viewer reads both in the same way."""

import json
import zlib
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

import orjson
from dayshift.calls import WAIT
from dayshift.trajectory import Cost, Manifest, Quarantine, RecordedStep, Trajectory, decode_text, group_id
from dayshift.trajectory_changes import assign_steps, limit_changes
from dayshift.wire import OpenRequest, Verdict
from sqlalchemy.engine import Row

from services.control import responses
from services.kernel.clock import iso, to_milliseconds

_HOUR_MS = 3_600_000
_BYTES_PER_TOKEN = 4


def build_trajectory(row: Row[Any]) -> Trajectory:
    """`row` joins an episode, its verdict and its trajectory."""
    verdict = Verdict.model_validate(_unpack(row.body))
    request = OpenRequest.model_validate(
        {"task": row.task, "seed": row.seed, "split": row.split, "world": row.world, "faults": row.faults}
    )
    steps = _number_steps(row.id, _unpack(row.served), orjson.loads(row.waits or "[]"))
    changes, cut = limit_changes(assign_steps(responses.diff(_unpack(row.diff)), steps))
    return Trajectory(
        manifest=Manifest(
            episode_id=row.id,
            open=request,
            brief=row.brief,
            budget=None,
            products=sorted(filter(None, row.products.split(","))),
            fingerprint=row.fingerprint,
            clock=_opening_clock(row, steps),
            action_space="",
            salt=verdict.salt,
            versions={},
        ),
        steps=steps,
        verdict=verdict,
        quarantine=_build_quarantine(verdict, ours=bool(row.ours)),
        cost=_compute_cost(steps, row),
        policy=row.policy,
        policy_version=row.policy_version,
        group=group_id(request),
        changes=changes,
        changes_cut=cut,
    )


def _number_steps(episode_id: str, served: list[dict[str, Any]], waits: list[tuple[int, int]]) -> list[RecordedStep]:
    """The requests to products and the waits between them, in the order of the episode's time."""
    events: list[tuple[int, int, dict[str, Any] | int]] = [(step["clock_ms"], 0, step) for step in served]
    events += [(began_ms, 1, by_ms) for began_ms, by_ms in waits]
    events.sort(key=lambda event: event[:2])
    return [
        _wait_step(number, episode_id, at_ms, event) if isinstance(event, int) else _product_step(number, event)
        for number, (at_ms, _, event) in enumerate(events, 1)
    ]


def _wait_step(number: int, episode_id: str, began_ms: int, by_ms: int) -> RecordedStep:
    return RecordedStep(
        number=number,
        operation=WAIT,
        arguments={"hours": by_ms / _HOUR_MS},
        product="",
        method="POST",
        target=f"/v1/episodes/{episode_id}/wait",
        request="",
        status=200,
        answer="",
        revision=None,
        clock=iso(began_ms + by_ms),
        key="",
        milliseconds=0.0,
        fault=None,
    )


def _product_step(number: int, step: dict[str, Any]) -> RecordedStep:
    query = f"?{step['query']}" if step["query"] else ""
    return RecordedStep(
        number=number,
        operation=step["operation"],
        arguments=_read_arguments(step),
        product=step["product"],
        method=step["method"],
        target=step["path"] + query,
        request=step["request"],
        status=step["status"],
        answer=step["answer"],
        revision=step["revision"],
        clock=iso(step["clock_ms"]),
        key=step["key"] or "",
        milliseconds=step["milliseconds"],
        fault=step["fault"],
    )


def _read_arguments(step: dict[str, Any]) -> dict[str, Any]:
    """The ledger holds requests and not calls: what a reader takes for arguments is the query and the body."""
    arguments: dict[str, Any] = dict(parse_qsl(step["query"], keep_blank_values=True))
    body = step["request"]
    try:
        parsed = json.loads(body) if body[:1] in ("{", "[") else dict(parse_qsl(body))
    except (ValueError, RecursionError):
        return arguments
    return arguments | (parsed if isinstance(parsed, dict) else {"body": parsed})


def _opening_clock(row: Row[Any], steps: list[RecordedStep]) -> str:
    """The ledger's clock is that of the ending once there is one; a first step comes one tick after the opening."""
    return steps[0].clock if steps else str(row.clock)


def _build_quarantine(verdict: Verdict, *, ours: bool) -> Quarantine | None:
    if verdict.outcome != "unscored":
        return None
    because = verdict.because or "unscored"
    return Quarantine(blame="harness" if ours else "caller", kind="Unscored", because=because)


def _compute_cost(steps: list[RecordedStep], row: Row[Any]) -> Cost:
    request_bytes = sum(len(decode_text(step.request)) + len(step.target) for step in steps)
    answer_bytes = sum(len(decode_text(step.answer)) for step in steps)
    return Cost(
        calls=len(steps),
        request_bytes=request_bytes,
        answer_bytes=answer_bytes,
        tokens_estimated=(request_bytes + answer_bytes + len(row.brief.encode())) // _BYTES_PER_TOKEN,
        wall_seconds=((row.ended_at or row.opened_at) - row.opened_at) / 1000,
        virtual_seconds=_virtual_seconds(steps),
    )


def _virtual_seconds(steps: list[RecordedStep]) -> float:
    if not steps:
        return 0.0
    first, last = (to_milliseconds(datetime.fromisoformat(step.clock)) for step in (steps[0], steps[-1]))
    return (last - first) / 1000


def _unpack(packed: bytes) -> Any:
    return orjson.loads(zlib.decompress(packed))
