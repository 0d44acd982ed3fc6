"""Histories: what several clients of one episode asked and were told, and whether one order explains it all."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Value = str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One operation on a register, between the moment it was asked and the moment it was answered.

    A write whose answer never came has no end: it may take effect at any later time, or never.
    """

    kind: Literal["read", "write"]
    key: str
    value: Value
    sent_at: float
    answered_at: float = math.inf


@dataclass(frozen=True, slots=True)
class ListEvent:
    """One operation on a list: an append of an element, or a read of the whole."""

    kind: Literal["append", "read"]
    element: str = ""
    seen: tuple[str, ...] = ()
    sent_at: float = 0.0
    answered_at: float = math.inf


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Why no order of these operations explains what the clients saw."""

    where: str
    because: str

    def __str__(self) -> str:
        return f"{self.where}: {self.because}"


def check_registers(events: Iterable[Event], initial: dict[str, Value]) -> list[Contradiction]:
    """Linearizability is local: each register is decided on its own."""
    by_key: dict[str, list[Event]] = {}
    for event in events:
        by_key.setdefault(event.key, []).append(event)
    found = (check_register(key, by_key[key], initial.get(key)) for key in sorted(by_key))
    return [contradiction for contradiction in found if contradiction is not None]


def check_register(key: str, events: Sequence[Event], initial: Value) -> Contradiction | None:
    written = {event.value for event in events if event.kind == "write"} | {initial}
    foreign = next((event for event in events if event.kind == "read" and event.value not in written), None)
    if foreign is not None:
        return Contradiction(key, f"{foreign.value!r} was read, which nobody wrote here")
    if _has_order(sorted(events, key=lambda event: event.sent_at), initial):
        return None
    return Contradiction(key, _first_impossible(sorted(events, key=lambda event: event.answered_at), initial))


def _has_order(events: Sequence[Event], initial: Value) -> bool:
    """Wing and Gong's search with the memory of Lowe: a state that failed once is not tried again.

    A state is the operations already ordered and the value they leave. An operation may come next if none of the
    others that are left was answered before it was asked.
    """
    whole = (1 << len(events)) - 1
    optional = sum(1 << at for at, event in enumerate(events) if event.answered_at == math.inf)
    tried: set[tuple[int, Hashable]] = set()
    ahead: list[tuple[int, Value]] = [(0, initial)]
    while ahead:
        placed, value = ahead.pop()
        if (placed | optional) == whole:
            return True
        if (placed, value) in tried:
            continue
        tried.add((placed, value))
        ahead += _next_states(events, placed, value)
    return False


def _next_states(events: Sequence[Event], placed: int, value: Value) -> list[tuple[int, Value]]:
    states: list[tuple[int, Value]] = []
    earliest_end = math.inf
    for index, event in enumerate(events):
        if placed >> index & 1:
            continue
        if event.sent_at > earliest_end:
            break
        earliest_end = min(earliest_end, event.answered_at)
        if event.kind == "write":
            states.append((placed | 1 << index, event.value))
        elif event.value == value:
            # A read that fits changes nothing: taking it now loses no order, so it is the only branch needed.
            return [(placed | 1 << index, value)]
    return states


def _first_impossible(by_answer: Sequence[Event], initial: Value) -> str:
    """The shortest beginning of the history that has no order; its last operation is the one to show."""
    low, high = 1, len(by_answer)
    while low < high:
        middle = (low + high) // 2
        kept = set(by_answer[:middle])
        begun = [_pending(event) if event not in kept else event for event in by_answer if _matters(event, kept)]
        if _has_order(sorted(begun, key=lambda event: event.sent_at), initial):
            low = middle + 1
        else:
            high = middle
    last = by_answer[low - 1]
    before = [event for event in by_answer[: low - 1] if event.answered_at < last.sent_at and event.kind == "write"]
    newest = max(before, key=lambda event: event.answered_at, default=None)
    timed_revisions = (
        ""
        if newest is None
        else f", though {newest.value!r} had been written {last.sent_at - newest.answered_at:.4f} s before"
    )
    return f"the {last.kind} of {last.value!r} at {last.sent_at:.4f} s fits no order{timed_revisions}"


def _matters(event: Event, events: set[Event]) -> bool:
    """Later writes may already have taken effect; later reads explain nothing."""
    return event in events or event.kind == "write"


def _pending(event: Event) -> Event:
    return Event(event.kind, event.key, event.value, event.sent_at)


def check_list(name: str, events: Sequence[ListEvent]) -> Contradiction | None:
    """Reads show the order of appends themselves: all must be beginnings of the longest, in the order of real time."""
    reads = [event for event in events if event.kind == "read"]
    appends = {event.element: event for event in events if event.kind == "append"}
    longest = max((event.seen for event in reads), key=len, default=())
    for event in reads:
        if event.seen != longest[: len(event.seen)]:
            return Contradiction(name, f"two reads disagree about the order: {_parting(event.seen, longest)}")
    if len(set(longest)) != len(longest):
        return Contradiction(name, "an element was appended once and is there twice")
    unknown = next((element for element in longest if element not in appends), None)
    if unknown is not None:
        return Contradiction(name, f"{unknown!r} was read, which nobody appended here")
    return _against_time(name, reads, [appends[element] for element in longest], list(appends.values()))


def _against_time(
    name: str, reads: Sequence[ListEvent], in_order: Sequence[ListEvent], appends: Sequence[ListEvent]
) -> Contradiction | None:
    """Append, reads of that length, next append …: nothing may come after what was asked only once it was over."""
    by_length: dict[int, list[ListEvent]] = {}
    for event in reads:
        by_length.setdefault(len(event.seen), []).append(event)
    latest_start = -math.inf
    for length in range(len(in_order) + 1):
        group = by_length.get(length, [])
        own = [in_order[length - 1]] if length else []
        for members in (own, group):
            for event in members:
                if event.answered_at < latest_start:
                    return Contradiction(
                        name, f"{_describe(event)} was over before something that it comes after began"
                    )
            latest_start = max([latest_start, *(event.sent_at for event in members)])
    shown = {event.element for event in in_order}
    return _find_lost(name, reads, [event for event in appends if event.element not in shown])


def _find_lost(name: str, reads: Sequence[ListEvent], missing: Sequence[ListEvent]) -> Contradiction | None:
    """An append that was answered must be in every read that was asked later."""
    last_read = max((event.sent_at for event in reads), default=-math.inf)
    lost = next((event for event in missing if event.answered_at < last_read), None)
    return None if lost is None else Contradiction(name, f"{lost.element!r} was appended and never seen again")


def _describe(event: ListEvent) -> str:
    return f"the append of {event.element!r}" if event.kind == "append" else f"a read of {len(event.seen)} elements"


def _parting(first: Sequence[str], other: Sequence[str]) -> str:
    at = next((at for at, (a, b) in enumerate(zip(first, other, strict=False)) if a != b), min(len(first), len(other)))
    return f"at place {at} one has {first[at : at + 2]}, another {other[at : at + 2]}"
