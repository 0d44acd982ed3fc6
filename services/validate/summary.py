"""Summary: how a family did over all its seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from services.validate.run import Result

CHANCE_MAY_EARN = 0.05
_BREACHES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Tally:
    """One promise over all seeds."""

    promise: str
    held: int
    tried: int
    breaches: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return self.held == self.tried


@dataclass(frozen=True, slots=True)
class Summary:
    """One family."""

    family: str
    seeds: int
    tallies: tuple[Tally, ...]
    chance: float | None

    @classmethod
    def of(cls, family: str, results: "Sequence[Result]") -> "Summary":
        names = dict.fromkeys(kept.promise for result in results for kept in result.kept)
        drawn = [result.chance for result in results if result.chance is not None]
        mean = sum(drawn) / len(drawn) if drawn else None
        tallies = (*(_tally(name, results) for name in names), _distinct(results))
        return cls(family, len(results), tallies, mean)

    @property
    def chance_passed(self) -> bool:
        return self.chance is not None and self.chance <= CHANCE_MAY_EARN

    @property
    def passed(self) -> bool:
        return bool(self.seeds) and self.chance_passed and all(tally.passed for tally in self.tallies)


def show(console: Console, summaries: Sequence[Summary]) -> None:
    table = Table("family", "seeds", "promises kept", "chance earns", "")
    for summary in summaries:
        kept = f"{sum(tally.passed for tally in summary.tallies)} of {len(summary.tallies)}"
        chance = "–" if summary.chance is None else f"{summary.chance:+.3f}"
        verdict = "[green]passed[/green]" if summary.passed else "[red]failed[/red]"
        table.add_row(summary.family, str(summary.seeds), kept, chance, verdict)
    console.print(table)
    for summary in summaries:
        for tally in summary.tallies:
            if not tally.passed:
                console.print(f"[red]{summary.family}: {escape(tally.promise)}[/red] {tally.held} of {tally.tried}")
                for breach in tally.breaches:
                    console.print(f"    {escape(breach)}", highlight=False)


def _distinct(results: "Sequence[Result]") -> Tally:
    """No two seeds ask for the same."""
    tasks = {result.task for result in results}
    twice = () if len(tasks) == len(results) else (f"{len(results)} seeds make {len(tasks)} tasks",)
    return Tally("every_seed_is_another_task", len(tasks), len(results), twice)


def _tally(promise: str, results: "Sequence[Result]") -> Tally:
    results_kept = [(result, kept) for result in results for kept in result.kept if kept.promise == promise]
    breaches = [
        f"{result.job.split} seed {result.job.seed}: {kept.because}" for result, kept in results_kept if not kept.held
    ]
    return Tally(promise, len(results_kept) - len(breaches), len(results_kept), tuple(breaches[:_BREACHES_SHOWN]))
