"""Sample calls: what validation itself does in a product, one module per product."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Literal, Protocol

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck

# Makes a call and returns the decoded answer; a policy that goes on after a refusal gets None for it.
Ask = Callable[[Call], Any]
# What somebody says who reviews a piece of work.
Reviewed = Literal["approved", "commented", "changes requested"]


class SampleCalls(Protocol):
    """A call that only reads, a mistake and its repair, harmful calls, and many writes as one call."""

    # Arguments of checks that are ids of rows which agents never see: they go by the numbers that the brief names.
    hidden_ids: frozenset[str]

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

    @property
    def is_judged_whole(self) -> bool:
        """Whether work in the product is judged as a whole, as code is."""

    def ask_colleague(self, thread: int, question: str) -> Call:
        """Return the call that puts a question to the colleague who decides on a thread."""

    def write_everywhere(self, brief: str, text: str, reviewed: Reviewed, ask: Ask) -> None:
        """Write the text wherever something can be written about what the brief names."""

    def read_code(self, brief: str, ask: Ask) -> str:
        """Return the docs, tests and changed lines of the code that the brief names."""

    def read_threads(self, brief: str, ask: Ask) -> str:
        """Return what people wrote about what the brief names."""

    def has_source(self, kind: str, name: str, ask: Ask) -> bool | None:
        """Tell whether a rule can be read in the source of that name; None where the product has no such sources."""


class NowhereToWrite:
    """What a product has in which nobody writes to others, no code lies and no rules stand."""

    hidden_ids: frozenset[str] = frozenset()
    # Whether work in it is judged as a whole, as code is: a part of it is worth nothing.
    is_judged_whole: bool = False

    def write_everywhere(self, _brief: str, _text: str, _reviewed: Reviewed, _ask: Ask) -> None:
        return None

    def read_code(self, _brief: str, _ask: Ask) -> str:
        return ""

    def read_threads(self, _brief: str, _ask: Ask) -> str:
        return ""

    def has_source(self, _kind: str, _name: str, _ask: Ask) -> bool | None:
        return None


def sample_calls_of(product: str) -> SampleCalls:
    try:
        calls: SampleCalls = import_module(f"services.validate.sample_calls.{product}").sample_calls
    except ModuleNotFoundError as error:
        raise Stuck(
            f"services/validate/sample_calls/{product}.py is missing: what is a mistake there, and what is harm?"
        ) from error
    return calls
