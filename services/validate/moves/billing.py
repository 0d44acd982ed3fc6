"""Moves in billing."""

from typing import Any

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck


class BillingMoves:
    """Customers that the task does not speak of bear the mistakes."""

    def look(self) -> Call:
        return Call("billing.customers.list", {"limit": 5})

    def slip(self, attempt: Attempt) -> tuple[Call, Call]:
        found = self._bystanders(attempt)[0]
        right = found["name"]
        return _rename(found["id"], f"{right} (old)"), _rename(found["id"], right)

    def harms(self, attempt: Attempt, count: int) -> list[Call]:
        return [
            Call("billing.customers.delete", {"customer": found["id"]})
            for found in self._bystanders(attempt)[1 : count + 1]
        ]

    def bulk(self, _calls: tuple[Call, ...]) -> Call | None:
        """Billing takes one thing at a time."""
        return None

    def _bystanders(self, attempt: Attempt) -> list[dict[str, Any]]:
        listed = attempt.do(Call("billing.customers.list", {"limit": 100}))
        found = [one for one in listed["data"] if one["name"] and one["id"] not in attempt.concerned]
        if len(found) < 5:
            raise Stuck("too few customers stand by")
        return found


def _rename(customer: str, name: str) -> Call:
    return Call("billing.customers.update", {"customer": customer, "name": name})


moves = BillingMoves()
