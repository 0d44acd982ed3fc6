"""CallFeatures: numeric features of a candidate call, computed from what the agent has read."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dayshift.calls import SUBMIT, WAIT, Call
from dayshift.episode import Episode
from dayshift.operations import Operation

FEATURES = (
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
_WORD = re.compile(r"[\w@.+-]{3,}")
_ID_FIELDS = ("id", "Id", "ID")


class CallFeatures:
    """Follows the steps of one episode and computes the features of candidate calls."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._brief = episode.brief.lower()
        self._words = set(_WORD.findall(self._brief))
        self._steps_read = 0
        self._values: set[str] = set()
        self._records: dict[str, float] = {}
        self._calls: set[str] = set()
        self._writes = 0

    def compute(self, call: Call) -> "np.ndarray[Any, np.dtype[np.float32]]":
        self._read_new_steps()
        operation = self._episode.operations[call.operation]
        values = [text for text in _iterate_scalars(dict(call.arguments)) if text]
        record = _find_record_id(operation, call)
        last = self._episode.steps[-1] if self._episode.steps else None
        budget = self._episode.protocol.opened.budget
        steps = budget.steps if budget is not None else 100
        return np.array(
            [
                1.0,
                *_classify(operation),
                str(call) in self._calls,
                _share(value in self._brief for value in values),
                _share(value in self._values for value in values),
                record in self._records,
                self._records.get(record, 0.0),
                last is not None and last.refused,
                self._writes > 0,
                min(1.0, self._episode.protocol.steps_used / steps),
                min(1.0, self._writes / 5),
            ],
            np.float32,
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
                self._records[str(record_id)] = min(1.0, len(words & self._words) / 3)


def _classify(operation: Operation) -> list[bool]:
    reads = operation.is_read_only
    writes = not reads and not operation.belongs_to_harness
    removes = writes and (operation.method == "DELETE" or operation.name.endswith((".archive", ".delete")))
    creates = writes and operation.name.endswith((".create", ".batch_create"))
    changes = writes and not removes and not creates
    return [
        reads and not operation.belongs_to_harness,
        creates,
        changes,
        removes,
        operation.name == WAIT,
        operation.name == SUBMIT,
    ]


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
