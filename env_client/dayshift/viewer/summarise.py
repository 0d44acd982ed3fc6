"""Makes rows, step heads and details of a trajectory in its JSON form. Pure: no files, no HTTP."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, cast

from dayshift.trajectory import Trajectory, decode_text
from dayshift.viewer.finding_rows import RowFinder, find_mentions
from dayshift.viewer.model import (
    EpisodeDetail,
    EpisodeSummary,
    LaneKind,
    ModelTurnView,
    Outcome,
    Record,
    RowChange,
    StepBody,
    StepHead,
    TextPart,
)
from dayshift.viewer.plain_words import mask_variables, plain_words
from dayshift.viewer.verdict_view import (
    build_waterfall,
    collateral_views,
    finding_views,
    flag_views,
    harm_of,
    sum_earned,
)

MAX_TEXT_CHARS = 65_536
_BRIEF_CHARS = 400
_LONGEST_ERROR = 160
_REMOTE_EXCEPTION = 511
_RATE_LIMITED = 429
_RATINGS = {"good": 1.0, "bad": 0.0, "satisfied": 1.0, "unsatisfied": 0.0}


def as_record(trajectory: Trajectory) -> Record:
    return trajectory.model_dump(mode="json")


def summarise(record: Record, *, key: str, run: str, heads: Sequence[StepHead] | None = None) -> EpisodeSummary:
    """Makes the row of an episode."""
    manifest, cost = record["manifest"], record["cost"]
    request = manifest["open"]
    verdict: Mapping[str, Any] = record.get("verdict") or {}
    breakdown: Mapping[str, Any] = verdict.get("breakdown") or {}
    steps = record["steps"]
    heads = step_heads(record) if heads is None else heads
    goals = [finding for finding in verdict.get("findings", []) if finding["weight"] > 0]
    lanes = Counter(head["lane"] for head in heads)
    model: Mapping[str, Any] = record.get("model") or {}
    return EpisodeSummary(
        key=key,
        run=run,
        episode_id=manifest["episode_id"],
        family=request["task"] or "free play",
        products=manifest["products"],
        split=request["split"],
        seed=request["seed"],
        world=request["world"],
        faults=request["faults"],
        struck=sorted({fault["kind"] for fault in verdict.get("faults", [])}),
        policy=record.get("policy") or "–",
        version=record.get("policy_version") or "",
        outcome=_find_outcome(verdict),
        reward=verdict.get("reward"),
        because=_find_reason(record, verdict),
        blame=_find_blame(record, verdict),
        flags=sorted({flag["tag"] for flag in verdict.get("flags", [])}),
        steps=len(steps),
        calls=cost["calls"],
        refusals=lanes["refusal"],
        errors=lanes["error"],
        retries=lanes["retry"],
        malformed=lanes["malformed"],
        changed_rows=len({(c["product"], c["table"], c["id"]) for c in record.get("changes") or [] if _is_agents(c)}),
        tokens=_count_tokens(model, cost),
        cost=model.get("cost"),
        wall_seconds=cost["wall_seconds"],
        virtual_seconds=cost["virtual_seconds"],
        group=record.get("group") or "",
        attempt=record.get("attempt") or 0,
        brief=manifest["brief"][:_BRIEF_CHARS],
        clock=manifest["clock"],
        earned=breakdown.get("earned", sum_earned(verdict)),
        harm=breakdown.get("harm", harm_of(verdict)),
        efficiency=breakdown.get("efficiency"),
        goals_held=sum(bool(goal["held"]) for goal in goals),
        goals=len(goals),
        rating=_rate(record.get("changes") or []),
        operations=dict(Counter(step["operation"] for step in steps)),
        first_error=_find_first_error(steps, heads),
        labels=[],
    )


def detail(
    record: Record,
    summary: EpisodeSummary,
    heads: Sequence[StepHead] | None = None,
    *,
    submitted: Any = None,
    mentions: Mapping[str, int] | None = None,
) -> EpisodeDetail:
    """Everything but the texts of steps; `record` may lack its steps where the heads and the mentions are given."""
    manifest, changes = record["manifest"], record.get("changes") or []
    verdict = record.get("verdict")
    model = record.get("model")
    rows = RowFinder(changes, find_mentions(verdict, record["steps"]) if mentions is None else mentions)
    return EpisodeDetail(
        summary=summary,
        brief=manifest["brief"],
        manifest={**manifest, "submitted": submitted},
        verdict=None if verdict is None else _in_plain_words(verdict),
        quarantine=record.get("quarantine"),
        waterfall=None if verdict is None else build_waterfall(verdict),
        findings=finding_views(verdict, rows),
        collateral=collateral_views(verdict, changes),
        flags=flag_views(verdict, rows),
        cost=record["cost"],
        heads=list(step_heads(record) if heads is None else heads),
        turns=list(record.get("turns") or []),
        rewards=record.get("rewards") or {},
        model=None if model is None else {name: model[name] for name in model if name not in {"messages", "turns"}},
        model_turns=[] if model is None else list(_model_turns(model)),
        has_changes=record.get("changes") is not None,
        changes_cut=record.get("changes_cut") or 0,
        previous=None,
        next=None,
    )


def _in_plain_words(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a verdict that the pages read from it, with reasons for readers."""
    readable = {**verdict, "because": verdict.get("because") and plain_words(verdict["because"])}
    if breakdown := verdict.get("breakdown"):
        harms = [{**harm, "because": plain_words(harm["because"])} for harm in breakdown["harms"]]
        readable["breakdown"] = {**breakdown, "harms": harms}
    return readable


def step_heads(record: Record) -> list[StepHead]:
    """The heads of all steps, with the planned faults of the verdict at the requests that they struck."""
    verdict: Mapping[str, Any] = record.get("verdict") or {}
    planned = {(fault["product"], fault["operation"]): fault["kind"] for fault in verdict.get("faults", [])}
    counts = _count_changes(record.get("changes") or [])
    requests: Counter[str] = Counter()
    heads: list[StepHead] = []
    previous: Mapping[str, Any] | None = None
    for step in record["steps"]:
        requests[step["product"]] += bool(step["product"])
        fault = step.get("fault") or planned.get((step["product"], requests[step["product"]]))
        heads.append(_head(step, fault, previous, counts.get(step["number"], {})))
        previous = step
    return heads


def _head(
    step: Mapping[str, Any], fault: str | None, previous: Mapping[str, Any] | None, changes: dict[str, int]
) -> StepHead:
    return StepHead(
        number=step["number"],
        operation=step["operation"],
        product=step["product"],
        method=step["method"],
        status=step["status"],
        clock=step["clock"],
        milliseconds=step["milliseconds"],
        actor=step.get("actor") or "",
        fault=fault,
        lane=_find_lane(step, fault, previous),
        bytes=len(step["answer"]),
        changes=changes,
    )


def step_bodies(record: Record, first: int, last: int) -> list[StepBody]:
    return [step_body(step) for step in record["steps"] if first <= step["number"] <= last]


def step_body(step: Mapping[str, Any]) -> StepBody:
    request, answer = show_text(step["request"]), show_text(step["answer"])
    return StepBody(
        number=step["number"],
        operation=step["operation"],
        arguments=step["arguments"],
        product=step["product"],
        method=step["method"],
        target=step["target"],
        status=step["status"],
        clock=step["clock"],
        revision=step.get("revision"),
        key=step["key"],
        milliseconds=step["milliseconds"],
        fault=step.get("fault"),
        actor=step.get("actor") or "",
        request=request[:MAX_TEXT_CHARS],
        request_bytes=len(request),
        answer=answer[:MAX_TEXT_CHARS],
        answer_bytes=len(answer),
    )


def show_text(recorded: str) -> str:
    """A recorded body as text; bytes that are not UTF-8 become replacement characters."""
    return decode_recorded(recorded).decode(errors="replace") if recorded.startswith("base64:") else recorded


def decode_recorded(recorded: str) -> bytes:
    """The bytes of a recorded body; one that is marked as base64 and is none is taken as text."""
    try:
        return decode_text(recorded)
    except ValueError:
        return recorded.encode(errors="replace")


def step_text(record: Record, number: int, part: TextPart) -> bytes | None:
    return next((decode_recorded(step[part]) for step in record["steps"] if step["number"] == number), None)


def row_changes(record: Record, first: int, last: int) -> list[RowChange]:
    return [cast(RowChange, change) for change in record.get("changes") or [] if first <= change["step"] <= last]


def find_submitted(steps: Sequence[Mapping[str, Any]]) -> Any:
    """The answer that the agent handed in."""
    last: Mapping[str, Any] = steps[-1] if steps else {}
    return last["arguments"].get("answer") if last and not last["product"] else None


def _find_lane(step: Mapping[str, Any], fault: str | None, previous: Mapping[str, Any] | None) -> LaneKind | None:
    status = step["status"]
    if fault is not None:
        return "fault"
    if not step["method"]:
        return "malformed"
    if (status >= 500 and status != _REMOTE_EXCEPTION) or status == 0:
        return "error"
    if status >= 400:
        return "refusal"
    return "retry" if previous is not None and _is_retry(step, previous) else None


def _is_retry(step: Mapping[str, Any], previous: Mapping[str, Any]) -> bool:
    failed = previous["status"] in {0, _RATE_LIMITED} or previous["status"] >= 500
    same = all(step[name] == previous[name] for name in ("operation", "arguments", "request"))
    return failed and same and bool(step["method"])


def _count_changes(changes: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, int]]:
    counts: dict[int, Counter[str]] = {}
    for change in changes:
        counts.setdefault(change["step"], Counter())[change["actor"]] += 1
    return {step: dict(counter) for step, counter in counts.items()}


def _is_agents(change: Mapping[str, Any]) -> bool:
    return change["actor"] in {"agent", "agent's job"}


def _find_outcome(verdict: Mapping[str, Any]) -> Outcome:
    outcome: Outcome = verdict.get("outcome", "unscored")
    return outcome


def _find_reason(record: Record, verdict: Mapping[str, Any]) -> str:
    quarantine = record.get("quarantine")
    if quarantine is not None:
        return f"{quarantine['kind']}: {quarantine['because']}"
    return plain_words(verdict.get("because") or "")


def _find_blame(record: Record, verdict: Mapping[str, Any]) -> str:
    quarantine = record.get("quarantine")
    if quarantine is not None:
        return str(quarantine["blame"])
    return "harness" if verdict.get("outcome") == "unscored" else ""


def _count_tokens(model: Mapping[str, Any], cost: Mapping[str, Any]) -> int:
    counted = sum(turn["input_tokens"] + turn["output_tokens"] for turn in model.get("turns", []))
    return int(counted or cost["tokens_estimated"])


def _rate(changes: Sequence[Mapping[str, Any]]) -> float | None:
    """The customers' last ratings, one for each rating row."""
    last: dict[Any, float] = {}
    for change in changes:
        if change["table"] != "satisfaction_ratings" or not change["after"]:
            continue
        score = (change["after"].get("body") or change["after"]).get("score")
        if score in _RATINGS:
            last[change["id"]] = _RATINGS[score]
    return fmean(last.values()) if last else None


def _find_first_error(steps: Sequence[Mapping[str, Any]], heads: Sequence[StepHead]) -> str:
    for step, head in zip(steps, heads, strict=True):
        if head["lane"] in {"refusal", "error", "malformed"}:
            text = mask_variables(show_text(step["answer"][:2_000]))
            return f"{step['operation']} {step['status']}: {' '.join(text.split())[:_LONGEST_ERROR]}"
    return ""


def _model_turns(model: Mapping[str, Any]) -> Iterator[ModelTurnView]:
    """The texts of each reply, in whatever format the provider has."""
    turns, messages = model["turns"], model["messages"]
    ends = [turn["messages_sent"] for turn in turns[1:]] + [len(messages)]
    for turn, end in zip(turns, ends, strict=True):
        new_messages = messages[turn["messages_sent"] : end]
        replies = [message for message in new_messages if _is_assistants(message)]
        has_steps = turn["last_step"] >= turn["first_step"]
        yield ModelTurnView(
            text="\n".join(filter(None, map(_text_of, replies))),
            reasoning=turn.get("reasoning") or "",
            calls=[] if has_steps else [call for message in new_messages for call in _calls_of(message)],
            first=turn["first_step"],
            last=turn["last_step"],
            input_tokens=turn.get("input_tokens") or 0,
            output_tokens=turn.get("output_tokens") or 0,
            seconds=turn.get("seconds") or 0.0,
            finish_reason=turn.get("finish_reason") or "",
        )


def _is_assistants(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant" or message.get("type") == "message"


def _calls_of(message: Mapping[str, Any]) -> Iterator[str]:
    """The tools that a reply asks for with their arguments: of chat completions, of responses, of Anthropic's API."""
    for call in message.get("tool_calls") or []:
        yield f"{call['function']['name']} {call['function']['arguments']}"
    if message.get("type") == "function_call":
        yield f"{message['name']} {message['arguments']}"
    content = message.get("content")
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") == "tool_use":
            yield f"{part['name']} {json.dumps(part['input'], ensure_ascii=False)}"


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
    return content if isinstance(content, str) else ""
