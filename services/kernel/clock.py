"""An episode's own time."""

from datetime import UTC, datetime, timedelta

TICK_MS = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_ZONE = _EPOCH.replace(tzinfo=None)


class Clock:
    """Time that moves by a fixed tick per request of the episode and by `advance`, never by itself."""

    __slots__ = ("_ms", "ticked_from_ms")

    def __init__(self, start_ms: int) -> None:
        self._ms = start_ms
        # The time before the last tick: what a tick makes due lies between the two.
        self.ticked_from_ms = start_ms

    def now_ms(self) -> int:
        return self._ms

    def now(self) -> datetime:
        return to_datetime(self._ms)

    def tick(self, to_ms: int = 0) -> None:
        """Moves by one tick, or to `to_ms` where that is later: other products of the episode may be further on."""
        self.ticked_from_ms = self._ms
        self._ms = max(self._ms + TICK_MS, to_ms)

    def advance_to(self, ms: int) -> None:
        if ms < self._ms:
            raise ValueError(f"time does not run backwards: {ms} is before {self._ms}")
        self._ms = ms


class WatchedClock(Clock):
    """Tells whether anybody has looked at it."""

    __slots__ = ("looked_at",)

    def __init__(self, start_ms: int) -> None:
        super().__init__(start_ms)
        self.looked_at = False

    def now_ms(self) -> int:
        self.looked_at = True
        return super().now_ms()

    def now(self) -> datetime:
        self.looked_at = True
        return super().now()


def to_datetime(ms: int) -> datetime:
    # By position: names cost a third of it, and answers are full of times.
    return _EPOCH + timedelta(0, 0, 0, ms)


def to_milliseconds(when: datetime) -> int:
    return round((when - _EPOCH) / timedelta(milliseconds=1))


def iso_seconds(ms: int) -> str:
    """ISO-8601 in whole seconds and a Z."""
    return (_EPOCH_WITHOUT_ZONE + timedelta(0, ms // 1000)).isoformat() + "Z"


def iso(ms: int) -> str:
    """ISO-8601 with milliseconds and a Z, as the imitated products print it."""
    return (_EPOCH_WITHOUT_ZONE + timedelta(0, 0, 0, ms)).isoformat("T", "milliseconds") + "Z"
