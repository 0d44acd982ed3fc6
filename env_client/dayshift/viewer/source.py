"""ViewerSource: where the pages' episodes come from, a folder of recordings or the ledger."""

from typing import Literal, Protocol

from dayshift.trajectory import Trajectory
from dayshift.viewer.model import (
    EpisodeDetail,
    EpisodePage,
    EpisodeQuery,
    EpisodeSummary,
    IndexProgress,
    RowChange,
    RunRow,
    StepBody,
    TextPart,
)

MAX_ROWS = 500
MAX_STEPS = 50


class ViewerSource(Protocol):
    """Everything that the pages ask for; every method returns a bounded answer, except `trajectory`."""

    title: str
    kind: Literal["recordings", "ledger"]

    async def progress(self) -> IndexProgress: ...

    async def runs(self, query: EpisodeQuery) -> list[RunRow]:
        """The runs that hold an episode which matches, and what they hold of them."""
        ...

    async def episodes(self, query: EpisodeQuery) -> EpisodePage: ...

    async def summaries(self, query: EpisodeQuery) -> list[EpisodeSummary]:
        """All that match, without a window: for groups, the dashboard and samples."""
        ...

    async def episode(self, key: str, query: EpisodeQuery | None = None) -> EpisodeDetail | None:
        """The neighbours are those in the list that the query gives."""
        ...

    async def steps(self, key: str, first: int, last: int) -> list[StepBody]:
        """The steps from `first` to `last`, at most MAX_STEPS, each text cut."""
        ...

    async def step_text(self, key: str, number: int, part: TextPart) -> bytes | None:
        """The whole text of a step."""
        ...

    async def changes(self, key: str, first: int, last: int) -> list[RowChange]: ...

    async def trajectory(self, key: str) -> Trajectory | None: ...
