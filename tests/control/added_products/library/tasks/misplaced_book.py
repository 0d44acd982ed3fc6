"""A book stands on the wrong shelf."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fixtures.tasks.allowed import Allowed
from fixtures.tasks.family import Budget, Call, CheckQuestion, Family, Goal, InstanceDraw, Oracle
from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The book, and the shelf to which it belongs."""

    book: int
    shelf: str


class MisplacedBook(Family[Misplaced]):
    """The agent puts one book back."""

    title = "Put a book back on its shelf"
    products = ("library",)
    budget = Budget(steps=30)
    phrasings = (
        "Book {book} belongs on {shelf}. Please put it back.",
        "Please move book {book} to {shelf}.",
        "{shelf} is where book {book} should be.",
    )

    def plant(self, worlds: Mapping[str, World], draw: InstanceDraw) -> Misplaced:
        book = draw.pick([number for (number,) in worlds["library"].rows("SELECT id FROM books ORDER BY id")])
        return Misplaced(book, f"shelf {3 + draw.number % 2}")

    def facts(self, trouble: Misplaced) -> Mapping[str, str]:
        return {"book": str(trouble.book), "shelf": trouble.shelf}

    def goals(self, trouble: Misplaced) -> tuple[Goal, ...]:
        arguments = {"book": trouble.book, "shelf": trouble.shelf}
        return (Goal(CheckQuestion("library", "BookOnShelf", arguments), Fraction(1)),)

    def allowed(self, trouble: Misplaced) -> tuple[Allowed, ...]:
        return (Allowed("library", "books", frozenset({"shelf"}), row=trouble.book),)

    def par(self, trouble: Misplaced) -> int:
        return self.compute_par(trouble, 1)

    def oracle(self, trouble: Misplaced) -> Oracle:
        yield Call("library.books.update", {"book": trouble.book, "shelf": trouble.shelf})
        return None

    def menu(self, trouble: Misplaced) -> tuple[Call, ...]:
        return (Call("library.books.get", {"book": trouble.book}),)
