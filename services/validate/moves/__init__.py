"""Moves: what validation does in a product of its own accord, one module per product."""

from importlib import import_module
from typing import Protocol

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck


class Moves(Protocol):
    """A look that changes nothing, a mistake and its repair, harm, and many writes at once."""

    def look(self) -> Call: ...

    def slip(self, attempt: Attempt) -> tuple[Call, Call]:
        """A write to a record that the task does not speak of, and the write that puts it right."""

    def harms(self, attempt: Attempt, count: int) -> list[Call]:
        """Each ends a record that the task does not speak of."""

    def bulk(self, calls: tuple[Call, ...]) -> Call | None:
        """The same writes as one call, where the product has one for them."""


def moves_in(product: str) -> Moves:
    try:
        found: Moves = import_module(f"services.validate.moves.{product}").moves
    except ModuleNotFoundError as error:
        raise Stuck(
            f"services/validate/moves/{product}.py is missing: what is a mistake there, and what is harm?"
        ) from error
    return found
