"""Open-loop pacing: when each request is due, whatever became of those before it."""

from collections.abc import Callable
from dataclasses import dataclass

Rate = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Shape:
    """How many requests a second are offered, as time goes by."""

    name: str
    seconds: float
    rate: Rate


def constant(qps: float, seconds: float) -> Shape:
    return Shape("constant", seconds, lambda _: qps)


def ramp(qps: float, seconds: float, start: float = 20.0) -> Shape:
    """Evenly from a trickle to the full rate."""
    return Shape("ramp", seconds, lambda at: start + (qps - start) * at / seconds)


def spike(qps: float, seconds: float, height: float = 4.0, every: float = 15.0, length: float = 3.0) -> Shape:
    """The full rate, and now and then, for moments, several times as much."""
    return Shape("spike", seconds, lambda at: qps * height if at % every >= every - length else qps)


def soak(qps: float, seconds: float) -> Shape:
    """Constant, and long: what is looked at is what grows."""
    return Shape("soak", seconds, lambda _: qps)


SHAPES: dict[str, Callable[[float, float], Shape]] = {
    "constant": constant,
    "ramp": ramp,
    "spike": spike,
    "soak": soak,
}


class Schedule:
    """Hands out due times, in seconds from the start; a slow server finds them waiting, not fewer of them."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._next = 0.0
        self.offered = 0

    def take(self) -> float | None:
        """When the next request is due; None after the last."""
        due = self._next
        if due >= self.shape.seconds:
            return None
        self._next = due + 1.0 / self.shape.rate(due)
        self.offered += 1
        return due
