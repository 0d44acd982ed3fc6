"""The action and observation spaces."""

import json
import string
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from dayshift.calls import Call
from dayshift.operations import Catalogue
from dayshift.sampling import sample_arguments

LONGEST_BRIEF = 20_000
LONGEST_BODY = 100_000
LONGEST_ARGUMENTS = 1 << 20
LONGEST_CLOCK = 40
UNLIMITED_STEPS = 2**31 - 1
TRUNCATED = "\n… cut, {missing} more characters"


class UnicodeText(spaces.Text):  # noqa: PLW1641 - compared by value and, like every Gymnasium space, unhashable
    """Any text up to a length: an answer may hold whatever alphabet its customers write in."""

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length


class CallSpace(spaces.Dict):
    """`{"operation": Discrete, "arguments": JSON text}`, whose samples are calls that the schemas allow."""

    def __init__(self, operations: Catalogue, *, seed: int | np.random.Generator | None = None) -> None:
        self.operations = operations
        inside: dict[str, spaces.Space[Any]] = {
            "operation": spaces.Discrete(len(operations)),
            "arguments": UnicodeText(LONGEST_ARGUMENTS),
        }
        super().__init__(inside, seed=seed if seed is None or isinstance(seed, int) else None)

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        chosen = self["operation"].sample(
            mask=None if mask is None else mask["operation"],
            probability=None if probability is None else probability["operation"],
        )
        operation = self.operations[self.operations.names[int(chosen)]]
        arguments = sample_arguments(operation.schema, self["arguments"].np_random)
        return {"operation": chosen, "arguments": json.dumps(arguments)}

    def encode(self, call: Call) -> dict[str, Any]:
        """A call as a member of this space."""
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        return {"operation": np.int64(self.operations.index(call.operation)), "arguments": arguments}

    def decode(self, action: object) -> object:
        """A member of this space as an action by name; anything else comes back as it was."""
        if isinstance(action, Mapping) and isinstance(action.get("operation"), int | np.integer):
            index = int(action["operation"])
            if 0 <= index < len(self.operations):
                return {**action, "operation": self.operations.names[index]}
        return action


def observation_space(longest_body: int = LONGEST_BODY) -> spaces.Dict:
    return spaces.Dict(
        {
            "brief": UnicodeText(LONGEST_BRIEF),
            # 0: nothing was sent yet, or no answer came.
            "status": spaces.Discrete(600),
            "body": UnicodeText(longest_body),
            "clock": UnicodeText(LONGEST_CLOCK),
            "steps_left": spaces.Box(0, UNLIMITED_STEPS, shape=(), dtype=np.int64),
        }
    )


def shortened(text: str, longest: int) -> str:
    """The text, or as much of it as fits with a note of what is missing."""
    if len(text) <= longest:
        return text
    room = longest - len(TRUNCATED.format(missing=len(text)))
    return text[:room] + TRUNCATED.format(missing=len(text) - room)
