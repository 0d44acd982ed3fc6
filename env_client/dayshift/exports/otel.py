"""A trajectory as OpenTelemetry spans, in the JSON encoding of OTLP that collectors take at `/v1/traces`.

One trace for an episode: the episode is the root, an orchestrator's turns or a model's replies are its children, and
each call is a child of what asked for it. Names follow the semantic conventions for generative AI.
Times are those of the episode's own clock: recordings hold no wall time. A call lasts as long as it really took.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from dayshift.review.store import Review
from dayshift.trajectory import RecordedStep, Trajectory
from dayshift.version import VERSION

_INTERNAL, _CLIENT = 1, 3
_OK, _ERROR = 1, 2
_LONGEST_TEXT = 32_768
_MS = 1_000_000


def to_otel(trajectory: Trajectory, reviews: Iterable[Review] = ()) -> dict[str, Any]:
    """Returns an ExportTraceServiceRequest of one trace."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": "dayshift", "service.version": VERSION})},
                "scopeSpans": [
                    {"scope": {"name": "dayshift.trajectory", "version": VERSION}, "spans": _spans(trajectory, reviews)}
                ],
            }
        ]
    }


def _spans(trajectory: Trajectory, reviews: Iterable[Review]) -> list[dict[str, Any]]:
    episode_id = trajectory.manifest.episode_id
    trace, root = _digest(episode_id, 16), _digest(f"{episode_id}/episode", 8)
    times = [_nanoseconds(step.clock) for step in trajectory.steps]
    start = _nanoseconds(trajectory.manifest.clock)
    ends = [when + round(step.milliseconds * _MS) for when, step in zip(times, trajectory.steps, strict=True)]
    end = max([start, *ends])
    parents: dict[int, str] = {}
    groups: list[dict[str, Any]] = []
    for number, (name, first, last, attributes) in enumerate(_groups(trajectory), 1):
        span = _digest(f"{episode_id}/group/{number}", 8)
        own = range(first - 1, min(last, len(ends)))
        began = min((times[index] for index in own), default=start)
        ended = max((ends[index] for index in own), default=began)
        groups.append(_span(trace, span, root, name, _INTERNAL, (began, ended), attributes))
        parents |= dict.fromkeys(range(first, last + 1), span)
    steps = [
        _span(
            trace,
            _digest(f"{episode_id}/step/{step.number}", 8),
            parents.get(step.number, root),
            f"execute_tool {step.operation or 'malformed'}",
            _CLIENT if step.sent else _INTERNAL,
            (when, ended),
            _step_attributes(step),
            error=None if 0 < step.status < 400 else f"{step.status}",
        )
        for step, when, ended in zip(trajectory.steps, times, ends, strict=True)
    ]
    verdict = trajectory.verdict
    error = None if trajectory.scored else (trajectory.quarantine.because if trajectory.quarantine else "unscored")
    whole = _span(
        trace,
        root,
        "",
        f"invoke_agent {trajectory.policy or 'agent'}",
        _INTERNAL,
        (start, end),
        _episode_attributes(trajectory),
        error=error,
    )
    whole["events"] = [
        _event("dayshift.finding", end, finding.model_dump()) for finding in (verdict.findings if verdict else ())
    ]
    whole["events"] += [_event("dayshift.flag", end, flag.model_dump()) for flag in (verdict.flags if verdict else ())]
    whole["events"] += [_event("dayshift.review", end, review.model_dump(exclude={"key"})) for review in reviews]
    return [whole, *groups, *steps]


def _groups(trajectory: Trajectory) -> list[tuple[str, int, int, dict[str, Any]]]:
    """What asked for calls: the turns of a team, or the replies of a model."""
    if trajectory.turns:
        return [
            (
                f"invoke_agent {turn.asked or turn.operation}",
                turn.first,
                turn.last,
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": turn.asked,
                    "dayshift.ended": turn.ended,
                },
            )
            for turn in trajectory.turns
        ]
    if trajectory.model is None:
        return []
    model = trajectory.model
    return [
        (
            f"chat {model.model}",
            turn.first_step,
            turn.last_step,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": model.provider,
                "gen_ai.request.model": model.model,
                "gen_ai.response.finish_reasons": [turn.finish_reason],
                "gen_ai.usage.input_tokens": turn.input_tokens,
                "gen_ai.usage.output_tokens": turn.output_tokens,
                "dayshift.provider_seconds": turn.seconds,
            },
        )
        for turn in model.turns
    ]


def _episode_attributes(trajectory: Trajectory) -> dict[str, Any]:
    manifest, verdict = trajectory.manifest, trajectory.verdict
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": trajectory.policy,
        "gen_ai.agent.version": trajectory.policy_version,
        "gen_ai.conversation.id": manifest.episode_id,
        "dayshift.time": "episode clock",
        "dayshift.task": manifest.open.task,
        "dayshift.seed": manifest.open.seed,
        "dayshift.split": manifest.open.split,
        "dayshift.world": manifest.open.world,
        "dayshift.faults": manifest.open.faults,
        "dayshift.fingerprint": manifest.fingerprint,
        "dayshift.brief": manifest.brief,
        "dayshift.outcome": None if verdict is None else verdict.outcome,
        "dayshift.reward": trajectory.reward,
        "dayshift.because": None if verdict is None else verdict.because,
        "dayshift.flags": [flag.tag for flag in verdict.flags] if verdict else [],
        "gen_ai.usage.input_tokens": None if trajectory.model is None else trajectory.model.input_tokens,
        "gen_ai.usage.output_tokens": None if trajectory.model is None else trajectory.model.output_tokens,
    }


def _step_attributes(step: RecordedStep) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": step.operation,
        "gen_ai.tool.call.id": f"call_{step.number}",
        "gen_ai.tool.call.arguments": step.arguments,
        "gen_ai.tool.call.result": step.answer,
        "http.request.method": step.method or None,
        "http.response.status_code": step.status or None,
        "url.full": step.target or None,
        "dayshift.step": step.number,
        "dayshift.product": step.product or None,
        "dayshift.actor": step.actor or None,
        "dayshift.revision": step.revision,
        "dayshift.fault": step.fault,
    }


def _span(
    trace: str,
    span: str,
    parent: str,
    name: str,
    kind: int,
    times: tuple[int, int],
    attributes: Mapping[str, Any],
    *,
    error: str | None = None,
) -> dict[str, Any]:
    status: dict[str, Any] = {"code": _OK} if error is None else {"code": _ERROR, "message": error[:_LONGEST_TEXT]}
    return {
        "traceId": trace,
        "spanId": span,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": kind,
        # 64-bit numbers are strings in the JSON of protocol buffers.
        "startTimeUnixNano": str(times[0]),
        "endTimeUnixNano": str(times[1]),
        "attributes": _attributes(attributes),
        "status": status,
    }


def _event(name: str, time_ns: int, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "timeUnixNano": str(time_ns), "attributes": _attributes(attributes)}


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any_value(value)} for key, value in values.items() if value is not None]


def _any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _attributes({str(key): item for key, item in value.items()})}}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"arrayValue": {"values": [_any_value("" if item is None else item) for item in value]}}
    return {"stringValue": str(value)[:_LONGEST_TEXT]}


def _digest(name: str, size: int) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[: 2 * size]


def _nanoseconds(clock: str) -> int:
    return round(datetime.fromisoformat(clock).timestamp() * 1000) * _MS
