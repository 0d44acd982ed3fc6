"""The report as plain text for a terminal, which can also be piped and stored; the standings come last."""

from collections.abc import Mapping, Sequence

from dayshift.report import FAILURE_RATE_LIMIT, Histogram, PolicySummary, Summary

_BARS = " ▁▂▃▄▅▆▇█"


def render_text(summary: Summary) -> str:
    """All of it: families, checks, flags, how episodes ended, and the standings."""
    parts = [_render_tasks(summary)]
    if summary.checks:
        parts.append(_render_checks(summary))
    if summary.flags:
        parts.append(_render_counts("flags", summary.flags, summary.policy_names))
    return "\n\n".join([*parts, render_standings(summary)])


def render_standings(summary: Summary) -> str:
    """How episodes ended and what each policy earned, which fits on a screen."""
    names = summary.policy_names
    parts = [_render_headline(summary), _render_counts("how it ended", summary.failure_classes, names)]
    if summary.policies:
        parts.append(render_columns((*PolicySummary.HEAD, "−1 reward +1"), _render_policies(summary)))
    return "\n\n".join([*parts, _render_failure_rate(summary)]) + "\n"


def _render_headline(summary: Summary) -> str:
    counts = ", ".join(f"{number} {ending}" for ending, number in summary.endings.items())
    return f"{summary.episodes} episodes: {counts}; {summary.calls} calls, {summary.answer_bytes / 1e6:.2f} MB"


def _render_policies(summary: Summary) -> list[tuple[str, ...]]:
    return [(*policy.cells(), f"|{_render_sparkline(summary.rewards[policy.policy])}|") for policy in summary.policies]


def _render_checks(summary: Summary) -> str:
    names = summary.policy_names
    rows = [
        (check, *(f"{scores[name].mean:.3f} ({scores[name].findings})" if name in scores else "–" for name in names))
        for check, scores in summary.checks.items()
    ]
    return render_columns(("mean score (findings) of check", *names), rows)


def _render_counts(title: str, counts: Mapping[str, Mapping[str, int]], policies: Sequence[str]) -> str:
    rows = [(name, *(str(by_policy.get(policy, 0)) for policy in policies)) for name, by_policy in counts.items()]
    return render_columns((title, *policies), rows)


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


def _render_failure_rate(summary: Summary) -> str:
    rate = f"environment failure rate {summary.failure_rate:.2%} ({summary.harness_failures} of {summary.episodes})"
    relation = "below" if summary.trustworthy else "ABOVE"
    return f"{rate}, {relation} the {FAILURE_RATE_LIMIT:.0%} line"
