"""Reviews, and where they are kept: FileReviewStore writes into one folder, RunReviewStore beside each recording."""

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field, ValidationError

from dayshift.errors import UsageError
from dayshift.review.taxonomy import DEFAULT_TAXONOMY, Answer, Blame, Id, Taxonomy, parse_taxonomy, render_taxonomy
from dayshift.wire import Message

REVIEWS = "reviews.jsonl"
TAXONOMY = "taxonomy.json"

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Review(Message):
    """What one reviewer says about one episode; a later one of the same reviewer replaces it."""

    # The episode's id, or RUN-LINE where it has none of its own.
    key: Name
    # Where the key is RUN-LINE because another recording has the id already: the episode's id, for exports.
    episode_id: Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    reviewer: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
    labels: list[Id] = Field(default_factory=list, max_length=20)
    note: Annotated[str, Field(max_length=20_000)] = ""
    blame: Blame | None = None
    answers: dict[Id, Answer] = Field(default_factory=dict, max_length=40)
    # The step that the review is about, where it is about one.
    step: Annotated[int, Field(ge=0)] | None = None
    # Wall time, in ISO 8601.
    at: Annotated[str, Field(max_length=40)] = ""

    @property
    def is_empty(self) -> bool:
        """An empty review takes back what its reviewer said before."""
        return self.blame is None and not self.labels and not self.answers and not self.note


class ReviewStore(Protocol):
    """Where reviews and the taxonomy are kept; all calls block, so that servers make them in a thread."""

    def taxonomy(self) -> Taxonomy: ...

    def save_taxonomy(self, taxonomy: Taxonomy) -> None: ...

    def reviews(self, keys: Collection[str] | None = None) -> list[Review]:
        """The latest review of each reviewer: of these episodes, or of all."""

    def save(self, review: Review) -> Review: ...

    def delete(self, key: str, reviewer: str) -> None: ...


class FileReviewStore:
    """`reviews.jsonl` and `taxonomy.json` in a folder; lines are only ever added, so a review's history stays."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._lock = threading.Lock()

    def taxonomy(self) -> Taxonomy:
        """That of the folder or the next folder above that has one; otherwise the one that comes with us."""
        root = self._folder.resolve()
        for place in (root, *root.parents):
            path = place / TAXONOMY
            if path.is_file():
                return parse_taxonomy(path.read_bytes(), str(path))
        return DEFAULT_TAXONOMY

    def save_taxonomy(self, taxonomy: Taxonomy) -> None:
        partial = self._folder / f"{TAXONOMY}.partial"
        partial.write_text(render_taxonomy(taxonomy), encoding="utf-8")
        partial.replace(self._folder / TAXONOMY)

    def reviews(self, keys: Collection[str] | None = None) -> list[Review]:
        return latest(review for review in read_reviews(self._folder / REVIEWS) if keys is None or review.key in keys)

    def save(self, review: Review) -> Review:
        saved = review if review.at else review.model_copy(update={"at": wall_time()})
        with self._lock:
            append_reviews([saved], self._folder / REVIEWS)
        return saved

    def delete(self, key: str, reviewer: str) -> None:
        self.save(Review(key=key, reviewer=reviewer))


class RunReviewStore:
    """Reviews of several runs, each beside the recordings that it is about, and the taxonomy of the first folder."""

    def __init__(self, folders: Sequence[str | Path], folder_of: Callable[[str], Path | None]) -> None:
        """`folders` hold recordings; `folder_of` tells in which folder an episode is, by its key."""
        self._folders = [Path(folder) for folder in folders]
        self._folder_of = folder_of
        self._of_first_folder = FileReviewStore(self._folders[0])
        self._lock = threading.Lock()

    def taxonomy(self) -> Taxonomy:
        return self._of_first_folder.taxonomy()

    def save_taxonomy(self, taxonomy: Taxonomy) -> None:
        self._of_first_folder.save_taxonomy(taxonomy)

    def reviews(self, keys: Collection[str] | None = None) -> list[Review]:
        return [review for review in load_reviews(*self._folders) if keys is None or review.key in keys]

    def save(self, review: Review) -> Review:
        folder = self._folder_of(review.key) or self._folders[0]
        saved = review if review.at else review.model_copy(update={"at": wall_time()})
        with self._lock:
            append_reviews([saved], folder / REVIEWS)
        return saved

    def delete(self, key: str, reviewer: str) -> None:
        self.save(Review(key=key, reviewer=reviewer))


def append_reviews(reviews: Iterable[Review], path: Path) -> None:
    lines = b"".join(review.model_dump_json().encode() + b"\n" for review in reviews)
    try:
        with path.open("ab+") as file:
            # A crash may have left half a line, which this one must not continue.
            file.write(lines if _ends_whole(file.seek(0, 2), path) else b"\n" + lines)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def read_reviews(path: Path) -> Iterator[Review]:
    """Yields the reviews of a file in the order of writing; a line that a crash tore is skipped."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield Review.model_validate_json(line)
        except ValidationError as error:
            if _is_json(line):
                raise UsageError(f"{path}:{number} is not a review: {error.errors()[0]['msg']}") from error


def load_reviews(*places: str | Path, others: Iterable[Review] = ()) -> list[Review]:
    """The latest reviews of folders of recordings, of their subfolders and of the folders above; a file is read alone.

    Whoever reads `runs` may have saved its reviews there, and `runs/a` is exported later. `others` come from elsewhere.
    """
    paths = dict.fromkeys(path for place in places for path in _find_reviews(Path(place).resolve()))
    dated = [pair for source in (others, *map(read_reviews, paths)) for pair in _date(source)]
    # By time, for the later of two files need not hold the later review; within a second, in the order of reading.
    return latest(review for _, review in sorted(dated, key=lambda pair: pair[0]))


def _find_reviews(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    yield from (path for folder in reversed(place.parents) if (path := folder / REVIEWS).is_file())
    yield from sorted(place.rglob(REVIEWS))


def _date(reviews: Iterable[Review]) -> Iterator[tuple[str, Review]]:
    """A review without a time, which somebody wrote by hand, has that of the line before."""
    date = ""
    for review in reviews:
        date = max(date, review.at)
        yield date, review


def latest(reviews: Iterable[Review]) -> list[Review]:
    """Keeps the last review of each reviewer of each episode, and leaves out those that were taken back."""
    newest: dict[tuple[str, str], Review] = {}
    for review in reviews:
        newest.pop((review.key, review.reviewer), None)
        newest[review.key, review.reviewer] = review
    return [review for review in newest.values() if not review.is_empty]


def by_episode(reviews: Iterable[Review]) -> dict[str, list[Review]]:
    grouped: dict[str, list[Review]] = {}
    for review in reviews:
        grouped.setdefault(review.key, []).append(review)
    return grouped


def find_blamed_on_harness(reviews: Iterable[Review]) -> frozenset[str]:
    """The episodes that stay out of exports. One reviewer suffices: what may be our fault must not teach a model."""
    blamed = [review for review in reviews if review.blame == "harness"]
    return frozenset({review.key for review in blamed} | {review.episode_id for review in blamed} - {""})


def wall_time() -> str:
    """When a review is written; nothing of an episode depends on it."""
    return datetime.now(UTC).isoformat(timespec="seconds")  # noqa: TID251 - as said


def _ends_whole(size: int, path: Path) -> bool:
    if not size:
        return True
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
