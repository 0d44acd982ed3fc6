"""EpisodeOpener: opens the episodes of one environment."""

from collections.abc import Mapping, Sequence

from dayshift.answer_text import MAX_ANSWER_CHARS
from dayshift.connection import Address, Connection
from dayshift.curriculum import Curriculum
from dayshift.discovery import discover_operations
from dayshift.episode import Episode
from dayshift.http_flow import ANSWER_SECONDS
from dayshift.intervention import Supervisor
from dayshift.open_request import open_request
from dayshift.operations import Catalogue
from dayshift.task_sampling import list_eligible_tasks, sample_task
from dayshift.wire import OpenRequest, Split


class EpisodeOpener:
    """Opens one episode after the other over one connection; `defaults` holds the options of the environment."""

    def __init__(
        self,
        defaults: OpenRequest,
        products: tuple[str, ...],
        control_url: str | None = None,
        timeout: float = ANSWER_SECONDS,
        families: str | Sequence[str] = "",
        surface: str | None = None,
        max_answer_chars: int = MAX_ANSWER_CHARS,
        *,
        curriculum: Curriculum | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        self.defaults = defaults
        self._products = products
        self._families = families
        self._surface = surface
        self._max_answer_chars = max_answer_chars
        self._curriculum = curriculum
        self._supervisor = supervisor
        self._connection = Connection(Address.find(control_url), timeout=timeout)
        self._tasks_by_split: dict[Split, list[str]] = {}
        self.operations = self._discover_operations()

    def open(self, seed: int, options: Mapping[str, object], max_steps: int | None = None) -> Episode:
        """Opens an episode; `options` are those of `env.reset` and replace the environment's own."""
        request = open_request(**{**self.defaults.model_dump(), **options, "seed": seed})
        if request.task is None:
            request = request.model_copy(update={"task": self._sample_task(request.split, seed)})
        return Episode.open(
            request,
            connection=self._connection,
            surface=self._surface,
            max_answer_chars=self._max_answer_chars,
            max_steps=max_steps,
            supervisor=self._supervisor,
        )

    def close(self) -> None:
        self._connection.close()

    def _discover_operations(self) -> Catalogue:
        flow = discover_operations(self._connection.address.control, self.defaults.world, self._products)
        try:
            return self._connection.run(flow)
        except BaseException:
            self._connection.close()
            raise

    def _sample_task(self, split: Split, seed: int) -> str:
        if self._curriculum is not None:
            return self._curriculum.sample()
        return sample_task(self._list_tasks(split), seed)

    def _list_tasks(self, split: Split) -> list[str]:
        if split not in self._tasks_by_split:
            families = self._connection.run(self._connection.address.control.families())
            self._tasks_by_split[split] = list_eligible_tasks(families, self._products, split, self._families)
        return self._tasks_by_split[split]
