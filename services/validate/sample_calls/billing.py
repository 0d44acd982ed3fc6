"""Moves in billing."""

from typing import Any

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck


class BillingSampleCalls:
    """Customers that the task does not speak of bear the mistakes."""

    def read_call(self) -> Call:
        return Call("billing.customers.list", {"limit": 5})

    def mistake_and_repair(self, attempt: Attempt) -> tuple[Call, Call]:
        bystander = self._bystanders(attempt)[0]
        right = bystander["name"]
        return _rename(bystander["id"], f"{right} (old)"), _rename(bystander["id"], right)

    def harmful_calls(self, attempt: Attempt, count: int) -> list[Call]:
        return [
            Call("billing.customers.delete", {"customer": bystander["id"]})
            for bystander in self._bystanders(attempt)[1 : count + 1]
        ]

    def combine(self, _calls: tuple[Call, ...]) -> Call | None:
        """Billing takes one thing at a time."""
        return None

    def _bystanders(self, attempt: Attempt) -> list[dict[str, Any]]:
        listed = attempt.do(Call("billing.customers.list", {"limit": 100}))
        bystanders = [one for one in listed["data"] if one["name"] and one["id"] not in attempt.concerned]
        if len(bystanders) < 5:
            raise Stuck("too few customers stand by")
        return bystanders


def _rename(customer: str, name: str) -> Call:
    return Call("billing.customers.update", {"customer": customer, "name": name})


sample_calls = BillingSampleCalls()
