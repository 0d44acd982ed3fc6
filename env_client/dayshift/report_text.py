"""The report as plain text for a terminal, which can also be piped and stored."""

from collections import Counter
from collections.abc import Sequence

from dayshift.report import FAILURE_RATE_LIMIT, CheckScore, Histogram, PolicySummary, Summary

_BARS = " ▁▂▃▄▅▆▇█"


def render_text(summary: Summary) -> str:
    policies = [policy.cells() for policy in summary.policies]
    parts = [_render_headline(summary)]
    if policies:
        parts.append(render_columns(PolicySummary.HEAD, policies))
    parts.append(_render_tasks(summary))
    parts.append(
        f"reward  −1 {_render_sparkline(summary.rewards)} +1\n"
        f"steps    0 {_render_sparkline(summary.steps)} {summary.steps.edges[-1]:g}"
    )
    if summary.checks:
        lines = [
            f"  {score.mean:6.3f}  {name} ({score.findings} findings)" for name, score in _merge_checks(summary).items()
        ]
        parts.append("mean score by check\n" + "\n".join(lines))
    parts.append("how it ended\n" + "\n".join(_render_shares(summary.failure_classes, summary.episodes)))
    if summary.flags:
        parts.append("flags\n" + "\n".join(_render_shares(summary.flags, summary.episodes)))
    parts.append(_render_failure_rate(summary))
    return "\n\n".join(parts) + "\n"


def _render_headline(summary: Summary) -> str:
    mean = "no reward" if summary.mean_reward is None else f"mean reward {summary.mean_reward:+.4f}"
    counts = ", ".join(f"{number} {ending}" for ending, number in summary.endings.items())
    return f"{summary.episodes} episodes: {counts}; {mean}; {summary.calls} calls, {summary.answer_bytes / 1e6:.2f} MB"


def _merge_checks(summary: Summary) -> dict[str, CheckScore]:
    """Merges the numbered checks of an episode (`… (2)` and so on) into one line; the page shows them separately."""
    totals: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for numbered, score in summary.checks.items():
        name = numbered.partition(" (")[0]
        totals[name] = totals.get(name, 0.0) + score.mean * score.findings
        counts[name] += score.findings
    return {name: CheckScore(total / counts[name], counts[name]) for name, total in totals.items()}


def _render_tasks(summary: Summary) -> str:
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
        for row in summary.tasks
    ]
    return render_columns(head, rows)


def render_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    lines = (head, tuple("─" * width for width in widths), *rows)
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _render_sparkline(histogram: Histogram) -> str:
    tallest = max(histogram.counts) or 1
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // tallest)] for count in histogram.counts)


def _render_shares(counts: dict[str, int], total: int) -> list[str]:
    return [f"  {number:6d}  {number / total:6.1%}  {name}" for name, number in counts.items()]


def _render_failure_rate(summary: Summary) -> str:
    rate = f"environment failure rate {summary.failure_rate:.2%} ({summary.harness_failures} of {summary.episodes})"
    relation = "below" if summary.trustworthy else "ABOVE"
    return f"{rate}, {relation} the {FAILURE_RATE_LIMIT:.0%} line"
