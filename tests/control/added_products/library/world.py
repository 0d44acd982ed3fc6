"""A world of the library: thirty books, each lent once."""

from pathlib import Path

from services.kernel.template import WorldMeta, build
from tests.control.added_products.library.product import books, loans, product

NOW_MS = 1_790_000_000_000
BOOKS = 30


def build_world(folder: Path, name: str = "standard") -> None:
    meta = WorldMeta(product="library", profile=name, seed=1, now_ms=NOW_MS, counters={"book_field": 0})
    rows = [
        {
            "id": number,
            "title": f"Volume {number}",
            "shelf": f"shelf {number % 3}",
            "note": None,
            "updated_at": NOW_MS,
            "archived_at": None,
        }
        for number in range(1, BOOKS + 1)
    ]
    lent = [{"id": number, "book_id": number, "archived_at": None} for number in range(1, BOOKS + 1)]
    build(folder / f"library-{name}.sqlite", product.schema, meta, [(books, rows), (loans, lent)])
