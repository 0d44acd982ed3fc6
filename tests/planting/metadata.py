"""What the metadata of a row tells: features that an agent can read, and a classifier over them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

FEATURES = (
    "rank by id against rank by time",
    "id gap before",
    "id gap after",
    "ids per second before",
    "ids per second after",
    "second of the minute",
    "on a full minute",
    "on a full hour",
    "has milliseconds",
    "hour of the day",
    "weekday",
    "fields that others have and this one lacks",
    "fields that others lack and this one has",
    "edited after its creation",
    "time until its last edit",
)
# Neighbours in time: enough that the hours of a few of them do not stand for all.
_NEIGHBOURS = 120
_COMPARED = 12
_ENOUGH = 4
# Younger rows are of the day that their task is about.
_RECENT_MS = 72 * 3_600_000
_STEPS, _RIDGE = 12, 10.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One row as its metadata shows it; times in milliseconds."""

    id: int | str
    created: int
    updated: int
    fields: frozenset[str]
    planted: bool


class FieldUse:
    """Which fields nearly all rows of a table have, and which nearly none."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        counted, rows = Counter[str](), 0
        for entry in entries:
            counted.update(entry.fields)
            rows += 1
        self._usual = frozenset(name for name, times in counted.items() if times >= 0.9 * rows)
        self._known = frozenset(name for name, times in counted.items() if times >= 0.02 * rows)

    def lacking(self, entry: Entry) -> int:
        return len(self._usual - entry.fields)

    def odd(self, entry: Entry) -> int:
        return len(entry.fields - self._known)


def describe(
    template: Sequence[Entry], planted: Sequence[Entry], use: FieldUse, now_ms: int, half: int
) -> tuple[list[list[float]], list[int]]:
    """Features of each planted row and of the template's rows next to it in time, and which is which (1 is planted)."""
    horizon = now_ms - _RECENT_MS
    entries = sorted(
        [*template, *planted],
        key=lambda entry: (entry.created, str(entry.id) if isinstance(entry.id, str) else entry.id),
    )
    by_time = {entry.id: place for place, entry in enumerate(entries)}
    by_id = sorted(entries, key=lambda entry: entry.id) if isinstance(entries[0].id, int) else entries
    place_by_id = {entry.id: place for place, entry in enumerate(by_id)}
    compared: dict[int | str, Entry] = {}
    for entry in planted:
        place = by_time[entry.id]
        near = [
            other
            for other in entries[max(0, place - _NEIGHBOURS // 2) : place + _NEIGHBOURS // 2]
            if not other.planted
            and crc32(str(other.id).encode()) % 2 == half
            and (other.created > horizon) == (entry.created > horizon)
        ]
        if len(near) < _ENOUGH:
            continue
        compared[entry.id] = entry
        step = max(1, len(near) // _COMPARED)
        compared |= {other.id: other for other in near[place % step :: step]}
    rows = []
    for entry in compared.values():
        place = place_by_id[entry.id]
        before = by_id[place - 1] if place else None
        after = by_id[place + 1] if place + 1 < len(by_id) else None
        rank = abs(by_time[entry.id] - place)
        rows.append(
            [
                *_numbering(entry, before, after, rank),
                *_timing(entry, now_ms),
                use.lacking(entry),
                use.odd(entry),
                *_edits(entry),
            ]
        )
    return rows, [int(entry.planted) for entry in compared.values()]


def _numbering(entry: Entry, before: Entry | None, after: Entry | None, rank: int) -> list[float]:
    if isinstance(entry.id, str):
        return [0.0] * 5
    gaps, rates = [], []
    for other in (before, after):
        gap = 0.0 if other is None or isinstance(other.id, str) else float(abs(entry.id - other.id))
        seconds = 0.0 if other is None else abs(entry.created - other.created) / 1000
        gaps.append(np.log1p(gap))
        rates.append(np.log1p(gap) - np.log1p(seconds))
    return [float(min(rank, 50)), *gaps, *rates]


def _timing(entry: Entry, now_ms: int) -> list[float]:
    seconds = entry.created // 1000
    is_recent = entry.created > now_ms - _RECENT_MS
    return [
        float(seconds % 60),
        float(seconds % 60 == 0),
        float(seconds % 3600 == 0),
        float(entry.created % 1000 != 0),
        0.0 if is_recent else float(seconds // 3600 % 24),
        0.0 if is_recent else float(seconds // 86_400 % 7),
    ]


def _edits(entry: Entry) -> list[float]:
    later = max(0, entry.updated - entry.created)
    return [float(later > 0), float(np.log1p(later))]


@dataclass(frozen=True, slots=True)
class Classifier:
    """A logistic regression over standardised features."""

    mean: Floats
    scale: Floats
    weights: Floats

    @classmethod
    def fit(cls, rows: Floats, planted: Labels) -> "Classifier":
        """Both classes weigh the same; Newton's steps with a small ridge."""
        mean, scale = rows.mean(axis=0), rows.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        inputs = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
        costs = np.where(planted == 1, 0.5 / max(1, planted.sum()), 0.5 / max(1, (planted == 0).sum())) * len(rows)
        weights = np.zeros(inputs.shape[1])
        for _ in range(_STEPS):
            chances = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
            slope = inputs.T @ (costs * (planted - chances)) - _RIDGE * weights
            bend = (inputs * (costs * chances * (1 - chances))[:, None]).T @ inputs + _RIDGE * np.eye(len(weights))
            weights = weights + np.linalg.solve(bend, slope)
        return cls(mean, scale, weights)

    def score(self, rows: Floats) -> Floats:
        scores: Floats = ((rows - self.mean) / self.scale) @ self.weights[:-1]
        return scores

    def strongest(self, count: int) -> list[str]:
        return [FEATURES[index] for index in np.argsort(-np.abs(self.weights[:-1]))[:count]]


def area_under_curve(scores: Floats, planted: Labels) -> float:
    """The chance that a planted row scores higher than another one; ties count half."""
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for score in np.unique(scores):
        same = scores == score
        ranks[same] = ranks[same].mean()
    positive = int(planted.sum())
    negative = len(planted) - positive
    return float((ranks[planted == 1].sum() - positive * (positive + 1) / 2) / (positive * negative))


def measure(described: Mapping[int, tuple[list[list[float]], list[int]]]) -> tuple[float, str]:
    """Fits on the even episodes, scores the odd ones; returns the area, and the features that were asked first."""
    halves: defaultdict[int, tuple[list[list[float]], list[int]]] = defaultdict(lambda: ([], []))
    for episode, (rows, planted) in described.items():
        halves[episode % 2][0].extend(rows)
        halves[episode % 2][1].extend(planted)
    arrays: list[Any] = [
        (np.array(rows, dtype=np.float64), np.array(labels)) for rows, labels in (halves[0], halves[1])
    ]
    classifier = Classifier.fit(*arrays[0])
    return area_under_curve(classifier.score(arrays[1][0]), arrays[1][1]), ", ".join(classifier.strongest(3))
