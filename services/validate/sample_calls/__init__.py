"""Sample calls: what validation itself does in a product, one module per product."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck


class SampleCalls(Protocol):
    """A call that only reads, a mistake and its repair, harmful calls, and many writes as one call."""

    def read_call(self) -> Call: ...

    def mistake_and_repair(self, attempt: Attempt) -> tuple[Call, Call]:
        """Return a write to a record that is not part of the task, and the write that repairs it."""

    def harmful_calls(self, attempt: Attempt, count: int) -> list[Call]:
        """Return calls each of which ends a record that is not part of the task."""

    def combine(self, calls: tuple[Call, ...]) -> Call | None:
        """Return the same writes as one call, where the product has one for them."""

    def look_around(self, ids: Sequence[int | str], terms: Sequence[str]) -> Iterator[Call]:
        """Yield reads of lists, of the rows with these ids and of what stands beside them, and searches for terms."""

    def find_first(self, argument: str, by: str) -> tuple[Call, tuple[str | int, ...]] | None:
        """Return the call that lists the records an argument names, last made or highest id first, and where it is."""

    def ask_customer(self, thread: int, question: str) -> Call:
        """Return the call that puts a question to the customer of a thread."""

    def ask_colleague(self, thread: int, question: str) -> Call:
        """Return the call that puts a question to the colleague who decides on a thread."""


def sample_calls_of(product: str) -> SampleCalls:
    try:
        calls: SampleCalls = import_module(f"services.validate.sample_calls.{product}").sample_calls
    except ModuleNotFoundError as error:
        raise Stuck(
            f"services/validate/sample_calls/{product}.py is missing: what is a mistake there, and what is harm?"
        ) from error
    return calls
