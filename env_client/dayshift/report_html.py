"""The report as one self-contained HTML file, without scripts, fonts or images from elsewhere."""

from html import escape

from dayshift.report import FAILURE_RATE_LIMIT, Histogram, PolicySummary, Summary

_COLOURS = {"passed": "#2a7f62", "failed": "#c46b2d", "quarantined": "#7a7f8c"}
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --ink: #37507a; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; } svg { width: 100%; height: auto; } .muted { opacity: .7; }
.bar { display: flex; height: 1.4rem; border-radius: .3rem; overflow: hidden; } .bar div { min-width: 1px; }
.warn { border-left: .3rem solid #b3261e; padding-left: .8rem; }
"""


def render_html(summary: Summary, title: str = "Dayshift report") -> str:
    body = "".join(
        (
            f"<h1>{escape(title)}</h1>",
            _render_headline(summary),
            _render_endings(summary),
            _render_section(
                "Policies", _render_table(PolicySummary.HEAD, [policy.cells() for policy in summary.policies])
            ),
            _render_tasks(summary),
            _render_section("Reward", _render_histogram(summary.rewards, "reward, from −1 to 1")),
            _render_section("Episode length", _render_histogram(summary.steps, "steps")),
            _render_section("Mean score by check", _render_checks(summary)),
            _render_section("How episodes ended", _render_shares(summary.failure_classes, summary.episodes)),
            _render_section("Flags", _render_shares(summary.flags, summary.episodes)) if summary.flags else "",
            _render_section("Environment failure rate", _render_failure_rate(summary)),
        )
    )
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _render_headline(summary: Summary) -> str:
    mean = "no reward" if summary.mean_reward is None else f"mean reward {summary.mean_reward:+.4f}"
    text = f"{summary.episodes} episodes, {mean}, {summary.calls} calls, {summary.answer_bytes / 1e6:.2f} MB of answers"
    versions = f"; policy versions {', '.join(summary.versions)}" if summary.versions else ""
    return f'<p class="muted">{escape(text + versions)}</p>'


def _render_endings(summary: Summary) -> str:
    total = summary.episodes or 1
    parts = "".join(
        f'<div style="width:{number / total:.4%};background:{_COLOURS[ending]}" title="{number} {ending}"></div>'
        for ending, number in summary.endings.items()
    )
    counts = ", ".join(f"{number} {ending}" for ending, number in summary.endings.items())
    return f'<div class="bar">{parts}</div><p class="muted">{counts}</p>'


def _render_tasks(summary: Summary) -> str:
    head = ("policy", "task", "episodes", "passed", "failed", "quarantined", "reward", "steps", "tokens")
    lines = [
        (
            row.policy,
            row.task,
            row.episodes,
            *row.endings.values(),
            "–" if row.mean_reward is None else f"{row.mean_reward:+.4f}",
            f"{row.mean_steps:.1f}",
            f"{row.mean_tokens:.0f}",
        )
        for row in summary.tasks
    ]
    return _render_section("Policies and tasks", _render_table(head, lines))


def _render_table(head: tuple[str, ...], lines: list[tuple[object, ...]]) -> str:
    top = "".join(f'<th class="{"n" if place > 1 else ""}">{escape(name)}</th>' for place, name in enumerate(head))
    rows = "".join(
        "<tr>"
        + "".join(f'<td class="{"n" if place > 1 else ""}">{escape(str(cell))}</td>' for place, cell in enumerate(line))
        + "</tr>"
        for line in lines
    )
    return f"<table><tr>{top}</tr>{rows}</table>"


def _render_section(title: str, inside: str) -> str:
    return f"<h2>{escape(title)}</h2>{inside}"


def _render_histogram(histogram: Histogram, label: str) -> str:
    tallest, width = max(histogram.counts) or 1, 760 / len(histogram.counts)
    bars = "".join(
        f'<rect x="{20 + place * width + 1:.1f}" y="{170 - 150 * count / tallest:.1f}" width="{width - 2:.1f}" '
        f'height="{150 * count / tallest:.1f}" fill="var(--ink)"><title>{histogram.edges[place]:g} to '
        f"{histogram.edges[place + 1]:g}: {count}</title></rect>"
        for place, count in enumerate(histogram.counts)
    )
    axis = '<line x1="20" y1="170" x2="780" y2="170" stroke="currentColor" stroke-opacity=".4"/>'
    ends = (
        f'<text x="20" y="190" font-size="13" fill="currentColor">{histogram.edges[0]:g}</text>'
        f'<text x="780" y="190" font-size="13" fill="currentColor" text-anchor="end">{histogram.edges[-1]:g}</text>'
        f'<text x="400" y="190" font-size="13" fill="currentColor" text-anchor="middle">{escape(label)}, '
        f"tallest bar {tallest}</text>"
    )
    return f'<svg viewBox="0 0 800 200" role="img" aria-label="{escape(label)}">{bars}{axis}{ends}</svg>'


def _render_checks(summary: Summary) -> str:
    if not summary.checks:
        return '<p class="muted">nothing was judged</p>'
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td style="width:40%">{_render_meter(score.mean)}</td>'
        f'<td class="n">{score.mean:.4f}</td><td class="n">{score.findings}</td></tr>'
        for name, score in summary.checks.items()
    )
    head = '<tr><th>check</th><th></th><th class="n">mean score</th><th class="n">findings</th></tr>'
    return f"<table>{head}{rows}</table>"


def _render_meter(score: float) -> str:
    return f'<div class="bar"><div style="width:{max(0.0, min(1.0, score)):.2%};background:var(--ink)"></div></div>'


def _render_shares(counts: dict[str, int], total: int) -> str:
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{number}</td><td class="n">{number / total:.1%}</td></tr>'
        for name, number in counts.items()
    )
    return f'<table><tr><th></th><th class="n">episodes</th><th class="n">share</th></tr>{rows}</table>'


def _render_failure_rate(summary: Summary) -> str:
    # The bar spans twice the limit, so that the limit is in its middle.
    width = min(1.0, summary.failure_rate / (2 * FAILURE_RATE_LIMIT)) * 760
    colour = _COLOURS["passed"] if summary.trustworthy else "#b3261e"
    limit = f"{FAILURE_RATE_LIMIT:.0%}"
    bar = (
        '<svg viewBox="0 0 800 60" role="img" aria-label="failure rate">'
        '<rect x="20" y="10" width="760" height="20" fill="var(--line)"/>'
        f'<rect x="20" y="10" width="{width:.1f}" height="20" fill="{colour}"/>'
        '<line x1="400" y1="4" x2="400" y2="36" stroke="#b3261e" stroke-width="2"/>'
        f'<text x="400" y="52" font-size="13" fill="currentColor" text-anchor="middle">{limit}</text></svg>'
    )
    text = f"The environment failed in {summary.failure_rate:.2%} of the episodes ({summary.harness_failures})."
    if summary.trustworthy:
        return f"{bar}<p>{text}</p>"
    warning = "Above the limit, the rewards describe the environment more than the policy."
    return f'{bar}<p class="warn">{text} {warning}</p>'
