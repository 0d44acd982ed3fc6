"""RecordedChange: one write of one row, with the step of the episode after which the row is so."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from dayshift.wire import ChangeOut, Diff, Message

# What a recording keeps of an episode's changes; the agent's own come first.
MAX_CHANGES = 2_000
MAX_IMAGE_CHARS = 4_000_000
# `2026-11-16T09:00:01`: the time of a step comes from a Date header, which has no fractions.
_SECONDS = 19
_PLANTED = "planted"
_AGENTS = frozenset({"agent", "agent's job"})


class RecordedChange(Message):
    """One write of one row; step 0 is the state before the agent's first call."""

    product: str
    step: int
    revision: int
    at: str
    actor: str
    event: str
    table: str
    id: int | str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    @property
    def is_planted(self) -> bool:
        return self.event == _PLANTED

    @property
    def is_by_agent(self) -> bool:
        return self.actor in _AGENTS


class _NumberedStep(Protocol):
    """What is read of a step, recorded or not."""

    @property
    def number(self) -> int: ...
    @property
    def product(self) -> str: ...
    @property
    def revision(self) -> int | None: ...
    @property
    def clock(self) -> str: ...


def assign_steps(diff: Diff, steps: Sequence[_NumberedStep]) -> list[RecordedChange]:
    """All changes of an episode in the order of its steps."""
    changes = [change for product in diff.products for change in _assign(product, diff.products, steps)]
    return sorted(changes, key=lambda change: (change.step, change.at, change.product, change.revision))


def limit_changes(changes: Sequence[RecordedChange]) -> tuple[list[RecordedChange], int]:
    """The changes that a recording keeps, and how many it leaves out: planted rows go first, the agent's last."""
    by_weight = sorted(changes, key=lambda change: (not change.is_by_agent, change.is_planted))
    recorded: set[int] = set()
    chars = 0
    for change in by_weight[:MAX_CHANGES]:
        chars += _count_chars(change.before) + _count_chars(change.after)
        if chars > MAX_IMAGE_CHARS:
            break
        recorded.add(id(change))
    return [change for change in changes if id(change) in recorded], len(changes) - len(recorded)


def _count_chars(image: Mapping[str, Any] | None) -> int:
    return 0 if image is None else len(str(image))


def _assign(
    product: str, histories: Mapping[str, Sequence[ChangeOut]], steps: Sequence[_NumberedStep]
) -> Iterator[RecordedChange]:
    for change in histories[product]:
        step = 0 if change.event == _PLANTED else _find_step(product, change, steps)
        yield RecordedChange(product=product, step=step, **change.model_dump())


def _find_step(product: str, change: ChangeOut, steps: Sequence[_NumberedStep]) -> int:
    """The agent's writes are found by the revision of the answer, those of others by the clock."""
    answered = next(
        (
            step.number
            for step in steps
            if step.product == product and step.revision is not None and step.revision >= change.revision
        ),
        None,
    )
    if answered is not None and change.actor in _AGENTS:
        return answered
    at = change.at[:_SECONDS]
    by_clock = next((step.number for step in steps if step.clock[:_SECONDS] >= at), None)
    known = [number for number in (answered, by_clock) if number is not None]
    if known:
        return min(known)
    return steps[-1].number if steps else 0
