"""CallFeatures: numeric features of a candidate call, computed from what the agent has read."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dayshift.call_signs import ARGUMENT_SIGNS, OPERATION_SIGNS, compute_signs
from dayshift.calls import SUBMIT, WAIT, Call
from dayshift.episode import AsyncEpisode, Episode
from dayshift.operations import Operation

PLAIN_FEATURES = (
    "always",
    "reads",
    "creates",
    "changes",
    "removes",
    "waits",
    "submits",
    "was made before",
    "share of values in the brief",
    "share of values in answers",
    "its record was read",
    "its record shares words with the brief",
    "last call was refused",
    "something was written",
    "share of steps used",
    "share of budgeted writes made",
)
# The plain ones say how a call relates to what was read; the signs tell operations and fields apart.
FEATURES = (
    *PLAIN_FEATURES,
    "number of values",
    *(f"operation, sign {place}" for place in range(OPERATION_SIGNS)),
    *(f"arguments, sign {place}" for place in range(ARGUMENT_SIGNS)),
)
_WORD = re.compile(r"[\w@.+-]{3,}")
_ID_FIELDS = ("id", "Id", "ID")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call that a menu offers, with what about it stays the same for the whole episode."""

    call: Call
    text: str
    values: tuple[str, ...]
    record: str
    # `always`, and what the operation does.
    kind: tuple[float, ...]
    share_in_brief: float
    # The number of its values, and its signs.
    shape: tuple[float, ...]


class CallFeatures:
    """Follows the steps of one episode and computes the features of candidate calls."""

    def __init__(self, episode: Episode | AsyncEpisode) -> None:
        self._episode = episode
        self._brief = episode.brief.lower()
        self._words = set(_WORD.findall(self._brief))
        self._steps_read = 0
        self._values: set[str] = set()
        self._records: dict[str, float] = {}
        self._calls: set[str] = set()
        self._writes = 0

    def prepare(self, call: Call) -> Candidate:
        operation = self._episode.operations[call.operation]
        values = tuple(text for text in _iterate_scalars(dict(call.arguments)) if text)
        share = _share(value in self._brief for value in values)
        shape = (min(1.0, len(values) / 10), *compute_signs(call))
        return Candidate(call, str(call), values, _find_record_id(operation, call), _classify(operation), share, shape)

    def compute(self, candidates: Sequence[Candidate]) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """Returns a row of features for each candidate."""
        self._read_new_steps()
        progress = self._describe_progress()
        return np.array(
            [self._describe(candidate) + progress + candidate.shape for candidate in candidates], np.float32
        )

    def _describe(self, candidate: Candidate) -> tuple[float, ...]:
        return (
            *candidate.kind,
            candidate.text in self._calls,
            candidate.share_in_brief,
            _share(value in self._values for value in candidate.values),
            candidate.record in self._records,
            self._records.get(candidate.record, 0.0),
        )

    def _describe_progress(self) -> tuple[float, ...]:
        steps = self._episode.protocol.step_budget or 100
        return (
            bool(self._episode.steps) and self._episode.steps[-1].refused,
            self._writes > 0,
            min(1.0, self._episode.protocol.steps_used / steps),
            min(1.0, self._writes / 5),
        )

    def _read_new_steps(self) -> None:
        for step in self._episode.steps[self._steps_read :]:
            self._calls.add(str(step.call))
            self._writes += step.method not in {"", "GET"} and not step.refused
            self._read_answer(step.text)
        self._steps_read = len(self._episode.steps)

    def _read_answer(self, text: str) -> None:
        try:
            answer = json.loads(text) if text else None
        except ValueError:
            return
        for record in _iterate_objects(answer):
            self._values.update(_iterate_scalars(record))
            record_id = next((record[name] for name in _ID_FIELDS if name in record), None)
            if record_id is not None:
                words = set(_WORD.findall(" ".join(_iterate_scalars(record))))
                # An answer to an update shows a few fields only: what was read before still holds.
                shared = min(1.0, len(words & self._words) / 3)
                self._records[str(record_id)] = max(shared, self._records.get(str(record_id), 0.0))


def _classify(operation: Operation) -> tuple[float, ...]:
    reads = operation.is_read_only
    writes = not reads and not operation.belongs_to_harness
    removes = writes and (operation.method == "DELETE" or operation.name.endswith((".archive", ".delete")))
    creates = writes and operation.name.endswith((".create", ".batch_create"))
    changes = writes and not removes and not creates
    return (
        1.0,
        reads and not operation.belongs_to_harness,
        creates,
        changes,
        removes,
        operation.name == WAIT,
        operation.name == SUBMIT,
    )


def _find_record_id(operation: Operation, call: Call) -> str:
    parameters = re.findall(r"\{(\w+)\}", operation.path)
    return str(call.arguments.get(parameters[-1], "")) if parameters else ""


def _share(values: Iterable[bool]) -> float:
    flags = list(values)
    return sum(flags) / len(flags) if flags else 0.0


def _iterate_scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _iterate_scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_scalars(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value).lower()


def _iterate_objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _iterate_objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_objects(item)
