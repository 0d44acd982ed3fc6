"""Exchange: one call of an agent and what came back."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dayshift.calls import Call
from dayshift.errors import Refusal

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: f"{number:02d}" for number, name in enumerate(_MONTH_NAMES, 1)}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call and its answer; status 0 means that none came, by plan or because nothing could be sent."""

    number: int
    call: Call
    product: str
    method: str
    target: str
    request: bytes
    status: int
    body: bytes
    revision: int | None
    clock: str
    key: str
    milliseconds: float
    fault: str | None = None
    # Whose call it was, where several work on one episode.
    actor: str = ""

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def sent(self) -> bool:
        """False for a misstep: a call that could not be written down, and so was never sent."""
        return bool(self.method)

    @property
    def refused(self) -> bool:
        return not 200 <= self.status < 400

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    def raise_for_refusal(self) -> "Exchange":
        if self.refused:
            raise Refusal(self.call.operation, self.status, self.text)
        return self


@lru_cache(maxsize=65536)
def clock_of(date: str) -> str:
    """A Date header (`Mon, 16 Nov 2026 09:00:01 GMT`) as control writes times."""
    parts = date.split()
    if len(parts) != 6 or parts[2] not in _MONTHS:
        raise ValueError(f"{date!r} is not a date")
    return f"{parts[3]}-{_MONTHS[parts[2]]}-{parts[1]}T{parts[4]}.000Z"
