"""Progress: a progress bar on a terminal where rich is installed; no output elsewhere."""

import sys
from typing import Any

from dayshift.trajectory import Trajectory


class Progress:
    """Counts finished episodes by their ending."""

    def __init__(self, total: int | None, *, enabled: bool | None = None) -> None:
        self.endings = {"passed": 0, "failed": 0, "quarantined": 0}
        self._rewards = 0.0
        self._bar = _create_bar() if (sys.stderr.isatty() if enabled is None else enabled) else None
        if self._bar is not None:
            self._bar.start()
            self._row = self._bar.add_task("episodes", total=total, tally="")

    def count(self, trajectory: Trajectory) -> None:
        self.endings[trajectory.ending] += 1
        self._rewards += trajectory.reward or 0.0
        if self._bar is not None:
            self._bar.update(self._row, advance=1, tally=self._tally())

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _tally(self) -> str:
        scored = self.endings["passed"] + self.endings["failed"]
        mean = f"mean reward {self._rewards / scored:+.3f}" if scored else "no reward yet"
        counts = ", ".join(f"{number} {ending}" for ending, number in self.endings.items())
        return f"{counts}, {mean}"


def _create_bar() -> Any:
    try:
        from rich.console import Console  # an extra
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # an extra
        from rich.progress import Progress as RichProgress  # an extra
    except ImportError:
        return None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[tally]}"),
    )
    return RichProgress(*columns, console=Console(stderr=True))
