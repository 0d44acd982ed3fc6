"""Compares two attempts: calls aligned, the first divergence, and the rows that ended differently."""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from dayshift.viewer.model import AlignedCall, Comparison, EpisodeSummary, Record, RowDifference, StepHead
from dayshift.viewer.summarise import step_heads

_MOST_ROWS = 500
# Beyond this many calls, lines are aligned by their operations alone: the arguments would take minutes.
_MOST_EXACT = 2_000

Step = Mapping[str, Any]
Place = tuple[str, str, str]


def compare(left: Record, right: Record, summaries: tuple[EpisodeSummary, EpisodeSummary]) -> Comparison:
    calls = list(align_calls(left, right))
    return Comparison(
        left=summaries[0],
        right=summaries[1],
        same_instance=_instance(left) == _instance(right),
        same_world=left["manifest"]["fingerprint"] == right["manifest"]["fingerprint"],
        calls=calls,
        first_divergence=next((index for index, call in enumerate(calls) if not _is_identical(call)), None),
        rows=compare_rows(left.get("changes") or [], right.get("changes") or []),
        rows_known=left.get("changes") is not None and right.get("changes") is not None,
    )


def _is_identical(call: AlignedCall) -> bool:
    return call["kind"] == "same" and call["same_answer"]


def align_calls(left: Record, right: Record) -> Iterator[AlignedCall]:
    """Pairs equal calls; between them, calls of one operation with other arguments; the rest stands alone."""
    steps = (left["steps"], right["steps"])
    heads = (step_heads(left), step_heads(right))
    signatures = [[_sign(step, exact=max(map(len, steps)) <= _MOST_EXACT) for step in side] for side in steps]
    matcher = SequenceMatcher(None, signatures[0], signatures[1], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for i, j in zip(range(a, b), range(c, d), strict=True):
                yield _pair(steps, heads, i, j)
        else:
            yield from _align_block(steps, heads, range(a, b), range(c, d))


def _align_block(
    steps: tuple[Sequence[Step], Sequence[Step]],
    heads: tuple[Sequence[StepHead], Sequence[StepHead]],
    left: range,
    right: range,
) -> Iterator[AlignedCall]:
    operations = ([steps[0][i]["operation"] for i in left], [steps[1][j]["operation"] for j in right])
    for tag, a, b, c, d in SequenceMatcher(None, *operations, autojunk=False).get_opcodes():
        if tag == "equal":
            for i, j in zip(left[a:b], right[c:d], strict=True):
                yield _pair(steps, heads, i, j)
            continue
        for i in left[a:b]:
            yield _alone(heads[0][i], steps[0][i]["arguments"], is_left=True)
        for j in right[c:d]:
            yield _alone(heads[1][j], steps[1][j]["arguments"], is_left=False)


def _pair(
    steps: tuple[Sequence[Step], Sequence[Step]], heads: tuple[Sequence[StepHead], Sequence[StepHead]], i: int, j: int
) -> AlignedCall:
    left, right = steps[0][i], steps[1][j]
    return AlignedCall(
        left=heads[0][i],
        right=heads[1][j],
        kind="same" if left["arguments"] == right["arguments"] else "changed",
        same_answer=(left["status"], left["answer"]) == (right["status"], right["answer"]),
        left_arguments=left["arguments"],
        right_arguments=right["arguments"],
    )


def _alone(head: StepHead, arguments: Any, *, is_left: bool) -> AlignedCall:
    return AlignedCall(
        left=head if is_left else None,
        right=None if is_left else head,
        kind="left" if is_left else "right",
        same_answer=False,
        left_arguments=arguments if is_left else None,
        right_arguments=None if is_left else arguments,
    )


def _sign(step: Step, *, exact: bool) -> str:
    return f"{step['operation']} {json.dumps(step['arguments'], sort_keys=True) if exact else ''}"


def compare_rows(left: Sequence[Step], right: Sequence[Step]) -> list[RowDifference]:
    """The rows whose last images differ, the agent's own first."""
    ends = (_final_rows(left), _final_rows(right))
    differences = []
    for place in dict.fromkeys([*ends[0], *ends[1]]):
        touched = (place in ends[0], place in ends[1])
        before = ends[0][place][0] if touched[0] else ends[1][place][0]
        images = [end[place][1] if place in end else before for end in ends]
        if images[0] != images[1]:
            differences.append(_difference(place, before, images, touched))
    return differences[:_MOST_ROWS]


def _difference(place: Place, before: Any, images: Sequence[Any], touched: tuple[bool, bool]) -> RowDifference:
    return RowDifference(
        product=place[0],
        table=place[1],
        id=place[2],
        left=images[0],
        right=images[1],
        left_touched=touched[0],
        right_touched=touched[1],
        before=before,
    )


def _final_rows(changes: Sequence[Step]) -> dict[Place, tuple[Any, Any]]:
    """The first and the last image of each changed row; rows that the agent wrote come first."""
    images: dict[Place, tuple[Any, Any]] = {}
    by_agent: set[Place] = set()
    for change in changes:
        place = (change["product"], change["table"], str(change["id"]))
        first = images[place][0] if place in images else change["before"]
        images[place] = (first, change["after"])
        if change["actor"].startswith("agent"):
            by_agent.add(place)
    return dict(sorted(images.items(), key=lambda item: item[0] not in by_agent))


def _instance(record: Record) -> tuple[Any, ...]:
    request = record["manifest"]["open"]
    return tuple(request[name] for name in ("task", "seed", "split", "world"))
