"""LedgerMirror: writes what the ledger has recorded into a file of recordings, which the viewer indexes.

Reviews stand beside it, as exports read them. The files are a cache: they can be removed at any time. Nothing of it is
on control's path, and the ledger is read in small portions on an engine of the console's own.
"""

import hashlib
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dayshift.recorder import SCORED
from dayshift.review.store import REVIEWS
from sqlalchemy.engine import Row

from services.console.ledger_trajectory import build_trajectory
from services.control.database import create_engine
from services.control.tables import episodes, reviews, trajectories, verdicts

_PORTION = 100
# Endings are written in the order of their commits, which may differ a little from that of their times.
_OVERLAP_MS = 60_000
_MARK = "mark.json"


@dataclass
class _Mark:
    """How far the ledger was read: the time of the last ending, the ids around it, and the size of the file then."""

    at: int = 0
    size: int = 0
    recent: dict[str, int] = field(default_factory=dict)


class LedgerMirror:
    """One folder for one ledger."""

    def __init__(self, ledger_url: str, folder: Path) -> None:
        url = sa.make_url(ledger_url)
        name = hashlib.sha256(url.render_as_string(hide_password=True).encode()).hexdigest()[:12]
        self.folder = folder / name / "ledger"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / SCORED
        self.engine = create_engine(ledger_url)
        self._lock = threading.Lock()
        self._mark = self._read_mark()
        # The newest review that the file of reviews has; a new process writes the file anew.
        self._newest_review: int | None = None

    def update(self) -> int:
        """Writes the episodes that ended since the last call; returns their number."""
        count = 0
        with self._lock:
            while rows := self._read_portion():
                count += self._write(rows)
            self._write_reviews()
        return count

    def close(self) -> None:
        self.engine.dispose()

    def _read_portion(self) -> list[Row[Any]]:
        after = self._mark.at - _OVERLAP_MS
        joined = sa.join(episodes, verdicts, episodes.c.id == verdicts.c.episode_id).join(
            trajectories, trajectories.c.episode_id == episodes.c.id
        )
        ids = (
            sa.select(episodes.c.id)
            .where(episodes.c.ended_at >= after, episodes.c.id.not_in(list(self._mark.recent)))
            .order_by(episodes.c.ended_at, episodes.c.id)
            .limit(_PORTION)
        )
        with self.engine.connect() as connection:
            episode_ids = [row.id for row in connection.execute(ids)]
            statement = (
                sa.select(
                    episodes,
                    verdicts.c.body,
                    verdicts.c.ours,
                    trajectories.c.steps.label("served"),
                    trajectories.c.diff,
                    trajectories.c.waits,
                )
                .select_from(joined)
                .where(episodes.c.id.in_(episode_ids))
                .order_by(episodes.c.ended_at, episodes.c.id)
            )
            return list(connection.execute(statement)) if episode_ids else []

    def _write(self, rows: list[Row[Any]]) -> int:
        with self.path.open("ab") as file:
            for row in rows:
                file.write(build_trajectory(row).model_dump_json().encode() + b"\n")
            self._mark.size = file.tell()
        self._mark.recent |= {row.id: row.ended_at for row in rows}
        self._mark.at = max(self._mark.at, *(row.ended_at for row in rows))
        limit = self._mark.at - _OVERLAP_MS
        self._mark.recent = {name: at for name, at in self._mark.recent.items() if at >= limit}
        partial = self.folder / f"{_MARK}.partial"
        partial.write_text(json.dumps(vars(self._mark)))
        partial.replace(self.folder / _MARK)
        return len(rows)

    def _write_reviews(self) -> None:
        with self.engine.connect() as connection:
            newest = connection.execute(sa.select(sa.func.coalesce(sa.func.max(reviews.c.id), 0))).scalar_one()
            if newest == self._newest_review:
                return
            bodies = connection.execute(sa.select(reviews.c.body).order_by(reviews.c.id)).scalars().all()
        partial = self.folder / f"{REVIEWS}.partial"
        partial.write_text("".join(f"{body}\n" for body in bodies), encoding="utf-8")
        partial.replace(self.folder / REVIEWS)
        self._newest_review = newest

    def _read_mark(self) -> _Mark:
        """What was written after the last mark is written again; a mirror of another ledger starts anew."""
        try:
            mark = _Mark(**json.loads((self.folder / _MARK).read_text()))
        except (OSError, ValueError, TypeError):
            mark = _Mark()
        if mark.recent and not self._has_any(list(mark.recent)):
            mark = _Mark()
        with self.path.open("ab") as file:
            is_short = file.tell() < mark.size
            mark = _Mark() if is_short else mark
            file.truncate(mark.size)
        return mark

    def _has_any(self, ids: list[str]) -> bool:
        with self.engine.connect() as connection:
            found = connection.execute(sa.select(episodes.c.id).where(episodes.c.id.in_(ids[:_PORTION])).limit(1))
            return found.first() is not None
