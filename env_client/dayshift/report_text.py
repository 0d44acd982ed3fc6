"""The report for a terminal: plain text, so that it can also be piped and kept."""

from collections import Counter
from collections.abc import Sequence

from dayshift.report import FAILURE_LINE, Histogram, Standing, Summary

_BARS = " ▁▂▃▄▅▆▇█"


def as_text(summary: Summary) -> str:
    standings = [one.cells() for one in summary.standings]
    parts = [_headline(summary), *([columns(Standing.HEAD, standings)] if standings else []), _table(summary)]
    parts.append(
        f"reward  −1 {_spark(summary.rewards)} +1\nsteps    0 {_spark(summary.steps)} {summary.steps.edges[-1]:g}"
    )
    if summary.components:
        lines = [f"  {score:6.3f}  {name} ({asked} asked)" for name, (score, asked) in _by_check(summary).items()]
        parts.append("mean score by check\n" + "\n".join(lines))
    parts.append("how it ended\n" + "\n".join(_share_lines(summary.failures, summary.episodes)))
    if summary.flags:
        parts.append("flags\n" + "\n".join(_share_lines(summary.flags, summary.episodes)))
    parts.append(_line(summary))
    return "\n\n".join(parts) + "\n"


def _headline(summary: Summary) -> str:
    mean = "no reward" if summary.mean_reward is None else f"mean reward {summary.mean_reward:+.4f}"
    counted = ", ".join(f"{number} {ending}" for ending, number in summary.endings.items())
    return f"{summary.episodes} episodes: {counted}; {mean}; {summary.calls} calls, {summary.answer_bytes / 1e6:.2f} MB"


def _by_check(summary: Summary) -> dict[str, tuple[float, int]]:
    """What an episode asks several times over, `… (2)` and so on, is one line here; the page has them apart."""
    scored: dict[str, float] = {}
    times: Counter[str] = Counter()
    for numbered, (score, asked) in summary.components.items():
        name = numbered.partition(" (")[0]
        scored[name] = scored.get(name, 0.0) + score * asked
        times[name] += asked
    return {name: (total / times[name], times[name]) for name, total in scored.items()}


def _table(summary: Summary) -> str:
    head = ("policy", "task", "episodes", "passed", "failed", "quarantined", "reward", "steps", "tokens")
    rows = [
        (
            row.policy,
            row.task,
            str(row.episodes),
            *(str(row.endings[ending]) for ending in ("passed", "failed", "quarantined")),
            "–" if row.mean_reward is None else f"{row.mean_reward:+.3f}",
            f"{row.mean_steps:.1f}",
            f"{row.mean_tokens:.0f}",
        )
        for row in summary.rows
    ]
    return columns(head, rows)


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[place]) for line in (head, *rows)) for place in range(len(head))]
    lines = (head, tuple("─" * width for width in widths), *rows)
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _spark(histogram: Histogram) -> str:
    tallest = max(histogram.counts) or 1
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // tallest)] for count in histogram.counts)


def _share_lines(counted: dict[str, int], total: int) -> list[str]:
    return [f"  {number:6d}  {number / total:6.1%}  {name}" for name, number in counted.items()]


def _line(summary: Summary) -> str:
    rate = f"environment failure rate {summary.failure_rate:.2%} ({summary.harness_failures} of {summary.episodes})"
    judged = "below" if summary.trustworthy else "ABOVE"
    return f"{rate}, {judged} the {FAILURE_LINE:.0%} line"
