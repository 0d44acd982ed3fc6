"""How much work an episode took, in steps: a batch of n writes counts as n, a planned failure and its retry as one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

Step = Mapping[str, Any]
# Nothing came back: the agent has to ask again, and the second asking is the one that counts.
_UNANSWERED = frozenset({"rate_limited", "unavailable", "dropped_connection", "timeout_after_commit"})


def is_answered(step: Step) -> bool:
    return not step["replayed"] and step["fault"] not in _UNANSWERED


def work(steps: Sequence[Step], histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> int:
    return sum(
        _work(step, written)
        for product, history in histories.items()
        for step, written in _with_rows(product, steps, history)
        if is_answered(step)
    )


def _with_rows(product: str, steps: Sequence[Step], history: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Step, int]]:
    """Each step of one product with the number of rows that it wrote."""
    revisions = [change["revision"] for change in history]
    at = 0
    for step in steps:
        if step["product"] != product:
            continue
        before = at
        while at < len(revisions) and revisions[at] <= step["revision"]:
            at += 1
        yield step, at - before


def _work(step: Step, rows: int) -> int:
    """Asking for many at once is one question; writing many at once is many writes."""
    return 1 if rows <= 1 else max(1, min(rows, _longest_list(step["request"])))


def _longest_list(request: str) -> int:
    try:
        body = orjson.loads(request)
    except orjson.JSONDecodeError:
        return 1
    inside = body.values() if isinstance(body, dict) else [body]
    return max((len(value) for value in inside if isinstance(value, list)), default=1)
