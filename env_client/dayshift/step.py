"""Step: one call of an agent and the answer to it."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dayshift.calls import Call
from dayshift.errors import Refusal

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: f"{number:02d}" for number, name in enumerate(_MONTH_NAMES, 1)}


@dataclass(frozen=True, slots=True)
class Step:
    """One call and its answer.

    Status 0 means that there is no answer: the fault plan cut the connection, or the call could not be encoded.
    """

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
    # In a team: "orchestrator", or the specialist by the name of its product.
    actor: str = ""

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def sent(self) -> bool:
        """False for a malformed call: it cannot be encoded as a request, so the client does not send it."""
        return bool(self.method)

    @property
    def refused(self) -> bool:
        return is_refusal(self.status)

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    def raise_for_refusal(self) -> "Step":
        if self.refused:
            raise Refusal(self.call.operation, self.status, self.text)
        return self


def is_refusal(status: int) -> bool:
    """Also for 0, which stands for no answer."""
    return not 200 <= status < 400


@lru_cache(maxsize=65536)
def parse_date_header(date: str) -> str:
    """Converts a Date header (`Mon, 16 Nov 2026 09:00:01 GMT`) to the format in which control writes times."""
    parts = date.split()
    if len(parts) != 6 or parts[2] not in _MONTHS:
        raise ValueError(f"{date!r} is not a date")
    return f"{parts[3]}-{_MONTHS[parts[2]]}-{parts[1]}T{parts[4]}.000Z"
