"""A logistic regression over numbers, and how well it tells two kinds of rows apart on rows that it has not seen."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

_FOLDS, _STEPS, _PENALTY = 5, 12, 1.0

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Separation:
    """The area under the ROC curve on held-out rows: 0.5 is guessing.

    `planted` and `others` are the numbers of different rows: one that is compared with many others counts once.
    """

    area: float
    planted: int
    others: int
    # By the part of the rows, of those that have both kinds: the same scores, compared within the part alone.
    parts: Mapping[object, "Separation"] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """The standard error of the area of a guess (Hanley and McNeil): it follows from the numbers of rows."""
        return math.sqrt((0.25 + (self.planted + self.others - 2) / 12) / (self.planted * self.others))


def separate(
    features: Sequence[Sequence[float]],
    planted: Sequence[bool],
    groups: Sequence[object],
    rows: Sequence[object],
    parts: Sequence[object] = (),
) -> Separation:
    """Learns on four fifths of the rows and judges the rest, in turn.

    All planted rows of a group are in one fold, and so are all appearances of another row: as a neighbour of many
    planted rows it would be recognised by itself, not by what it has in common with its kind.
    """
    numbers, labels = np.asarray(features, dtype=float), np.asarray(planted, dtype=bool)
    numbers = numbers[:, numbers.std(axis=0) > 0]
    others = [not label for label in planted]
    folds = np.where(labels, _fold(groups, planted), _fold(rows, others))
    scores = np.zeros(len(labels))
    for fold in range(_FOLDS):
        seen = folds != fold
        scores[~seen] = _score(numbers[seen], labels[seen], numbers[~seen])
    different = [
        len({row for row, label in zip(rows, planted, strict=True) if label is kind}) for kind in (True, False)
    ]
    return Separation(area_under_curve(scores, labels), *different, _compare_parts(scores, labels, rows, parts))


def _compare_parts(
    scores: Numbers, labels: npt.NDArray[np.bool_], rows: Sequence[object], parts: Sequence[object]
) -> dict[object, Separation]:
    compared: dict[object, Separation] = {}
    for part in dict.fromkeys(parts):
        inside = np.array([other == part for other in parts])
        different = [
            len({row for row, is_inside in zip(rows, inside & kind, strict=True) if is_inside})
            for kind in (labels, ~labels)
        ]
        if all(different):
            compared[part] = Separation(area_under_curve(scores[inside], labels[inside]), *different)
    return compared


def _fold(keys: Sequence[object], counted: Sequence[bool]) -> list[int]:
    """The folds of the keys that count, dealt out in the order in which they come; 0 for the others."""
    order = dict.fromkeys(key for key, counts in zip(keys, counted, strict=True) if counts)
    places = {key: place % _FOLDS for place, key in enumerate(order)}
    return [places.get(key, 0) for key in keys]


def area_under_curve(scores: Numbers, labels: npt.NDArray[np.bool_]) -> float:
    """How often a planted row scores higher than another one; a tie counts half."""
    values, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    planted = int(labels.sum())
    others = len(labels) - planted
    assert len(values), "there are rows to rank"
    return float((ranks[places][labels].sum() - planted * (planted + 1) / 2) / (planted * others))


def _score(learnt: Numbers, labels: npt.NDArray[np.bool_], asked: Numbers) -> Numbers:
    """Newton's method; both kinds weigh the same, and large weights are penalised."""
    mean, spread = learnt.mean(axis=0), learnt.std(axis=0)
    spread[spread < 1e-9] = 1.0
    inputs = _with_constant((learnt - mean) / spread)
    balance = np.where(labels, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
    penalty = _PENALTY * np.eye(inputs.shape[1])
    penalty[0, 0] = 1e-6
    weights = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (balance * (chance - labels)) + penalty @ weights
        curvature = (inputs * (balance * chance * (1 - chance))[:, None]).T @ inputs + penalty
        weights -= np.linalg.solve(curvature, slope)
    result: Numbers = _with_constant((asked - mean) / spread) @ weights
    return result


def _with_constant(numbers: Numbers) -> Numbers:
    return np.column_stack([np.ones(len(numbers)), numbers])
