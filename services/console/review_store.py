"""LedgerReviewStore: reviews and the taxonomy in the ledger."""

from collections.abc import Collection

import sqlalchemy as sa
from dayshift.review.store import Review, latest, wall_time
from dayshift.review.taxonomy import DEFAULT_TAXONOMY, Taxonomy, parse_taxonomy, render_taxonomy

from services.control.ledger import wall_ms
from services.control.tables import reviews, taxonomies

# PostgreSQL takes no more than 65,535 parameters in one statement.
_MOST_KEYS = 1000


class LedgerReviewStore:
    """Adds rows and never changes one; calls block, and the viewer makes them in threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def taxonomy(self) -> Taxonomy:
        statement = sa.select(taxonomies.c.body).order_by(taxonomies.c.id.desc()).limit(1)
        with self._engine.connect() as connection:
            body = connection.execute(statement).scalar()
        return DEFAULT_TAXONOMY if body is None else parse_taxonomy(body, "the ledger's taxonomy")

    def save_taxonomy(self, taxonomy: Taxonomy) -> None:
        with self._engine.begin() as connection:
            connection.execute(sa.insert(taxonomies), {"at": wall_ms(), "body": render_taxonomy(taxonomy)})

    def reviews(self, keys: Collection[str] | None = None) -> list[Review]:
        statement = sa.select(reviews.c.body).order_by(reviews.c.id)
        if keys is not None and len(keys) <= _MOST_KEYS:
            statement = statement.where(reviews.c.key.in_(list(keys)))
        with self._engine.connect() as connection:
            found = [Review.model_validate_json(row.body) for row in connection.execute(statement)]
        return latest(review for review in found if keys is None or review.key in keys)

    def save(self, review: Review) -> Review:
        saved = review.model_copy(
            update={"at": wall_time(), "note": review.note.replace("\x00", "\N{REPLACEMENT CHARACTER}")}
        )
        row = {"key": saved.key, "reviewer": saved.reviewer, "at": wall_ms(), "body": saved.model_dump_json()}
        with self._engine.begin() as connection:
            connection.execute(sa.insert(reviews), row)
        return saved

    def delete(self, key: str, reviewer: str) -> None:
        self.save(Review(key=key, reviewer=reviewer))
