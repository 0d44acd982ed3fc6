"""Summary: how a family did over all its seeds."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from services.validate.run import Result

CHANCE_MAY_EARN = 0.05
LEAST_WAYS = 3
# Families that have shown fewer so far: a new family shows three, and one that has three is taken off the list.
FEWER_WAYS: dict[str, list[str]] = json.loads((Path(__file__).parent / "fewer_ways.json").read_text())
_BREACHES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Tally:
    """One promise over all seeds."""

    promise: str
    held: int
    tried: int
    breaches: tuple[str, ...]
    # Exceptions that a kept promise makes, such as values that follow by a rule.
    notes: tuple[str, ...] = ()

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
        names = dict.fromkeys(outcome.promise for result in results for outcome in result.promises)
        drawn = [result.chance for result in results if result.chance is not None]
        mean = sum(drawn) / len(drawn) if drawn else None
        counted = (_count_ways(family, names, kind) for kind in ("alternative", "mistake"))
        tallies = (*(_tally(name, results) for name in names), *counted, _distinct(results))
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
        passed_families = f"{sum(tally.passed for tally in summary.tallies)} of {len(summary.tallies)}"
        chance = "–" if summary.chance is None else f"{summary.chance:+.3f}"
        verdict = "[green]passed[/green]" if summary.passed else "[red]failed[/red]"
        table.add_row(summary.family, str(summary.seeds), passed_families, chance, verdict)
    console.print(table)
    for summary in summaries:
        for tally in summary.tallies:
            if not tally.passed:
                console.print(f"[red]{summary.family}: {escape(tally.promise)}[/red] {tally.held} of {tally.tried}")
                for breach in tally.breaches:
                    console.print(f"    {escape(breach)}", highlight=False)
            for note in tally.notes:
                console.print(f"[dim]{summary.family}: {escape(tally.promise)} {escape(note)}[/dim]", highlight=False)


def _distinct(results: "Sequence[Result]") -> Tally:
    """No two seeds ask for the same."""
    tasks = {result.task for result in results}
    twice = () if len(tasks) == len(results) else (f"{len(results)} seeds make {len(tasks)} tasks",)
    return Tally("every_seed_is_another_task", len(tasks), len(results), twice)


def _count_ways(family: str, names: Iterable[str], kind: str) -> Tally:
    """Every family shows three other right ways, and three tempting wrong ones, over all its seeds."""
    count = sum(name.startswith(f"{kind}: ") for name in names)
    text = f"{count} of {LEAST_WAYS}"
    if count < LEAST_WAYS and family in FEWER_WAYS[f"{kind}s"]:
        return Tally(f"three_{kind}s", LEAST_WAYS, LEAST_WAYS, (), (f"are {text}",))
    return Tally(f"three_{kind}s", min(count, LEAST_WAYS), LEAST_WAYS, () if count >= LEAST_WAYS else (text,))


def _tally(promise: str, results: "Sequence[Result]") -> Tally:
    tried = [(result, outcome) for result in results for outcome in result.promises if outcome.promise == promise]
    breaches = [
        f"{result.job.split} seed {result.job.seed}: {outcome.because}" for result, outcome in tried if not outcome.held
    ]
    notes = dict.fromkeys(outcome.note for _, outcome in tried if outcome.note)
    return Tally(promise, len(tried) - len(breaches), len(tried), tuple(breaches[:_BREACHES_SHOWN]), tuple(notes))
