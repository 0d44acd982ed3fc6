"""The action and observation spaces."""

import json
import string
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces

from dayshift.argument_sampling import sample_arguments
from dayshift.calls import Call
from dayshift.operations import Catalogue

MAX_BRIEF_CHARS = 20_000
MAX_BODY_CHARS = 100_000
MAX_ARGUMENTS_CHARS = 1 << 20
MAX_CLOCK_CHARS = 40
UNLIMITED_STEPS = 2**31 - 1
CUT_NOTE = "\n… cut, {missing} more characters"


class UnicodeText(spaces.Text):  # noqa: PLW1641 - compared by value and, like every Gymnasium space, unhashable
    """Any Unicode text up to a length, because customers write in many alphabets."""

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length


class EncodedAction(TypedDict):
    """A member of `CallSpace`: the index of an operation, and its arguments as JSON text."""

    operation: np.int64
    arguments: str


class CallSpace(spaces.Dict):
    """`{"operation": Discrete, "arguments": JSON text}`; samples are calls that the schemas allow."""

    def __init__(self, operations: Catalogue, *, seed: int | np.random.Generator | None = None) -> None:
        self.operations = operations
        subspaces: dict[str, spaces.Space[Any]] = {
            "operation": spaces.Discrete(len(operations)),
            "arguments": UnicodeText(MAX_ARGUMENTS_CHARS),
        }
        super().__init__(subspaces, seed=seed if seed is None or isinstance(seed, int) else None)

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        index = self["operation"].sample(
            mask=None if mask is None else mask["operation"],
            probability=None if probability is None else probability["operation"],
        )
        operation = self.operations[self.operations.names[int(index)]]
        arguments = sample_arguments(operation.schema, self["arguments"].np_random)
        return {"operation": index, "arguments": json.dumps(arguments)}

    def encode(self, call: Call) -> EncodedAction:
        """Returns a call as a member of this space."""
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        return {"operation": np.int64(self.operations.index(call.operation)), "arguments": arguments}

    def decode(self, action: object) -> object:
        """Returns a member of this space as an action with the operation's name; other actions stay as they are."""
        if isinstance(action, Mapping) and isinstance(action.get("operation"), int | np.integer):
            index = int(action["operation"])
            if 0 <= index < len(self.operations):
                return {**action, "operation": self.operations.names[index]}
        return action


def observation_space(max_body_chars: int = MAX_BODY_CHARS) -> spaces.Dict:
    return spaces.Dict(
        {
            "brief": UnicodeText(MAX_BRIEF_CHARS),
            # 0: no call was sent yet, or there is no answer.
            "status": spaces.Discrete(600),
            "body": UnicodeText(max_body_chars),
            "clock": UnicodeText(MAX_CLOCK_CHARS),
            "steps_left": spaces.Box(0, UNLIMITED_STEPS, shape=(), dtype=np.int64),
        }
    )


def shorten(text: str, max_chars: int) -> str:
    """Returns the text, cut to `max_chars` with a note of how much is missing."""
    if len(text) <= max_chars:
        return text
    room = max_chars - len(CUT_NOTE.format(missing=len(text)))
    return text[:room] + CUT_NOTE.format(missing=len(text) - room)
