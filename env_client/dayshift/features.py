"""What can be said in numbers of a candidate call, from nothing but what the agent has read."""

import json
import re
from collections.abc import Iterator
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


class Features:
    """Reads along with one episode and describes candidates."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._brief = episode.brief.lower()
        self._words = set(_WORD.findall(self._brief))
        self._read = 0
        self._values: set[str] = set()
        self._records: dict[str, float] = {}
        self._made: set[str] = set()
        self._writes = 0

    def of(self, call: Call) -> "np.ndarray[Any, np.dtype[np.float32]]":
        self._catch_up()
        operation = self._episode.operations[call.operation]
        values = [text for text in _scalars(dict(call.arguments)) if text]
        record = _record_id(operation, call)
        last = self._episode.exchanges[-1] if self._episode.exchanges else None
        budget = self._episode.dialogue.opened.budget
        steps = budget.steps if budget is not None else 100
        return np.array(
            [
                1.0,
                *_kinds(operation),
                str(call) in self._made,
                _share(value in self._brief for value in values),
                _share(value in self._values for value in values),
                record in self._records,
                self._records.get(record, 0.0),
                last is not None and last.refused,
                self._writes > 0,
                min(1.0, self._episode.dialogue.steps / steps),
                min(1.0, self._writes / 5),
            ],
            np.float32,
        )

    def _catch_up(self) -> None:
        for exchange in self._episode.exchanges[self._read :]:
            self._made.add(str(exchange.call))
            self._writes += exchange.method not in {"", "GET"} and not exchange.refused
            self._learn(exchange.text)
        self._read = len(self._episode.exchanges)

    def _learn(self, text: str) -> None:
        try:
            answer = json.loads(text) if text else None
        except ValueError:
            return
        for record in _objects(answer):
            self._values.update(_scalars(record))
            if (found := next((record[name] for name in _ID_FIELDS if name in record), None)) is not None:
                told = set(_WORD.findall(" ".join(_scalars(record))))
                self._records[str(found)] = min(1.0, len(told & self._words) / 3)


def _kinds(operation: Operation) -> list[bool]:
    reads = operation.reads_only
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


def _record_id(operation: Operation, call: Call) -> str:
    inside = re.findall(r"\{(\w+)\}", operation.path)
    return str(call.arguments.get(inside[-1], "")) if inside else ""


def _share(held: Iterator[bool] | Any) -> float:
    counted = list(held)
    return sum(counted) / len(counted) if counted else 0.0


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _scalars(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value).lower()


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
