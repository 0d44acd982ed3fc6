"""UnicodeText: a Gymnasium space of any text, which flattens and fits into shared memory."""

import string
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatten, flatten_space, unflatten
from gymnasium.vector.utils import read_from_shared_memory

# The number of code points. As in Gymnasium's own Text, the first number that is none fills the rest of a flat text.
CODE_POINTS = 0x110000
MAX_SAMPLE_CHARS = 64
CodePoints: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"


class UnicodeText(spaces.Text):  # noqa: PLW1641 - compared by value and, like every Gymnasium space, unhashable
    """Any Unicode text up to a length, because customers write in many alphabets.

    It flattens to one int32 code point for each character. Samples are short and printable.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        length, weights = mask or probability or (None, None)
        if length is None:
            length = int(self.np_random.integers(min(self.max_length, MAX_SAMPLE_CHARS) + 1))
        chosen = None if weights is None or not np.sum(weights) else np.asarray(weights) / np.sum(weights)
        return "".join(self.np_random.choice(list(string.printable), size=length, p=chosen))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length


@flatten_space.register(UnicodeText)
def _flatten_space(space: UnicodeText) -> spaces.Box:
    return spaces.Box(0, CODE_POINTS, (space.max_length,), np.int32)


@flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: str) -> CodePoints:  # type: ignore[misc]  # the fallback has a type variable
    flat = np.full(space.max_length, CODE_POINTS, np.int32)
    flat[: len(x)] = np.frombuffer(x.encode("utf-32-le", "surrogatepass"), "<i4")
    return flat


@unflatten.register(UnicodeText)
def _unflatten(_space: UnicodeText, x: CodePoints) -> str:  # type: ignore[misc]  # as above
    points = np.asarray(x)
    return points[points < CODE_POINTS].astype("<i4").tobytes().decode("utf-32-le", "surrogatepass")


class SharedTexts(Sequence[str]):
    """The texts that the workers of an AsyncVectorEnv wrote last; a copy of it is a tuple of strings.

    Gymnasium reads the shared memory once and hands out copies of that, so strings would stay as they were at first.
    """

    def __init__(self, space: UnicodeText, rows: CodePoints) -> None:
        self._space = space
        self._rows = rows

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return tuple(self)[index] if isinstance(index, slice) else _unflatten(self._space, self._rows[index])

    def __len__(self) -> int:
        return len(self._rows)

    def __deepcopy__(self, _memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> SharedTexts:
    rows = np.frombuffer(shared_memory.get_obj(), np.int32).reshape(n, space.max_length)
    return SharedTexts(space, rows)
