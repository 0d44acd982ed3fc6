"""Sample calls in billing."""

from collections.abc import Iterator, Sequence
from typing import Any

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck
from services.validate.sample_calls import NowhereToWrite

_OF_CUSTOMER = ("charges", "invoices", "subscriptions", "credit_notes", "payment_intents", "invoice_items")
_READS = {
    "cus": (
        ("billing.customers.get", "customer"),
        *((f"billing.{name}.list", "customer") for name in _OF_CUSTOMER),
        *(
            (f"billing.customers.list_{name}", "customer")
            for name in ("tax_ids", "payment_methods", "balance_transactions")
        ),
    ),
    "ch": (("billing.charges.get", "charge"), ("billing.refunds.list", "charge")),
    "in": (("billing.invoices.get", "invoice"),),
    "sub": (("billing.subscriptions.get", "subscription"), ("billing.subscription_items.list", "subscription")),
}
_FIRST = frozenset({"customer", "charge", "invoice", "subscription"})


class BillingSampleCalls(NowhereToWrite):
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

    def look_around(self, ids: Sequence[int | str], terms: Sequence[str]) -> Iterator[Call]:
        for name in ("prices", "products", "coupons", "tax_ids"):
            yield Call(f"billing.{name}.list", {"limit": 100})
        for key in (key for key in ids if isinstance(key, str)):
            for operation, argument in _READS.get(key.partition("_")[0], ()):
                yield Call(operation, {argument: key})
        for term in terms:
            if "@" in term:
                yield Call("billing.customers.list", {"email": term})
            elif not set(term) & set('"\\'):
                yield Call("billing.customers.search", {"query": f'name~"{term}"', "limit": 20})

    def find_first(self, argument: str, by: str) -> tuple[Call, tuple[str | int, ...]] | None:
        """Lists begin with what was made last; the ids have no order."""
        if by != "created" or argument not in _FIRST:
            return None
        return Call(f"billing.{argument}s.list", {"limit": 1}), ("data", 0, "id")

    def ask_customer(self, thread: int, question: str) -> Call:
        raise Stuck(f"nobody waits in billing: {thread} {question}")

    def ask_colleague(self, thread: int, question: str) -> Call:
        return self.ask_customer(thread, question)

    def _bystanders(self, attempt: Attempt) -> list[dict[str, Any]]:
        listed = attempt.do(Call("billing.customers.list", {"limit": 100}))
        bystanders = [one for one in listed["data"] if one["name"] and one["id"] not in attempt.concerned]
        if len(bystanders) < 5:
            raise Stuck("too few customers stand by")
        return bystanders


def _rename(customer: str, name: str) -> Call:
    return Call("billing.customers.update", {"customer": customer, "name": name})


sample_calls = BillingSampleCalls()
