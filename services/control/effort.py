"""How much work an episode took, in steps: a batch of n writes counts as n, a planned failure and its retry as one."""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from services.control.recorded_change import RecordedChange
from services.kernel.harness_replies import StepReply

# Faults after which no answer came: the agent has to ask again, and the second request is the one that counts.
_UNANSWERED = frozenset({"rate_limited", "unavailable", "dropped_connection", "timeout_after_commit"})


class EpisodeStep(StepReply):
    """One request of the agent, with the product that it went to."""

    product: str


def is_answered(step: EpisodeStep) -> bool:
    return not step["replayed"] and step["fault"] not in _UNANSWERED


def count_work(steps: Sequence[EpisodeStep], histories: Mapping[str, Sequence[RecordedChange]]) -> int:
    return sum(
        _count_writes(step, rows)
        for product, history in histories.items()
        for step, rows in _pair_with_rows(product, steps, history)
        if is_answered(step)
    )


def _pair_with_rows(
    product: str, steps: Sequence[EpisodeStep], history: Sequence[RecordedChange]
) -> Iterator[tuple[EpisodeStep, int]]:
    """Each step of one product with the number of rows that it wrote."""
    revisions = [change.revision for change in history]
    count = 0
    for step in steps:
        if step["product"] != product:
            continue
        before = count
        while count < len(revisions) and revisions[count] <= step["revision"]:
            count += 1
        yield step, count - before


def _count_writes(step: EpisodeStep, rows: int) -> int:
    """Reading many rows at once is one step; writing many at once is many."""
    return 1 if rows <= 1 else max(1, min(rows, _longest_list(step["request"])))


def _longest_list(request: str) -> int:
    try:
        body = orjson.loads(request)
    except orjson.JSONDecodeError:
        return 1
    values = body.values() if isinstance(body, dict) else [body]
    return max((len(value) for value in values if isinstance(value, list)), default=1)
