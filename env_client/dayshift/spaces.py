"""The action and observation spaces."""

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from dayshift.argument_sampling import sample_arguments
from dayshift.calls import Call
from dayshift.operations import Catalogue
from dayshift.text_space import UnicodeText

MAX_BRIEF_CHARS = 20_000
MAX_BODY_CHARS = 100_000
MAX_ARGUMENTS_CHARS = 1 << 20
MAX_CLOCK_CHARS = 40
UNLIMITED_STEPS = 2**31 - 1
CUT_NOTE = "\n… cut, {missing} more characters"


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
        return {"operation": index, "arguments": self.sample_arguments(int(index), self["arguments"].np_random)}

    def sample_arguments(self, index: int, chance: np.random.Generator) -> str:
        """Samples arguments that the schema of an operation allows, as JSON text."""
        operation = self.operations[self.operations.names[index]]
        return json.dumps(sample_arguments(operation.schema, chance))

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


class BatchedCallSpace(spaces.Dict):
    """The calls of a vector of environments; a sample holds one call for each that the schemas allow."""

    def __init__(self, calls: CallSpace, num_envs: int) -> None:
        self._calls = calls
        subspaces = {name: batch_space(space, num_envs) for name, space in calls.spaces.items()}
        super().__init__(subspaces, seed=deepcopy(calls.np_random))

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        indices = self["operation"].sample(
            mask=None if mask is None else mask["operation"],
            probability=None if probability is None else probability["operation"],
        )
        chance = self["arguments"].np_random
        arguments = tuple(self._calls.sample_arguments(int(index), chance) for index in indices)
        return {"operation": indices, "arguments": arguments}


@batch_space.register(CallSpace)
def _batch_calls(space: CallSpace, n: int = 1) -> BatchedCallSpace:
    """Gymnasium's own vectors batch the space by this too."""
    return BatchedCallSpace(space, n)


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
