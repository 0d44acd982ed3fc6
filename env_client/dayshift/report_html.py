"""The report as one self-contained HTML file, without scripts, fonts or images from elsewhere.

Every number is a link to the episodes that it counts, and those can be read step by step.
"""

import re
from collections.abc import Mapping
from html import escape

from dayshift.report import FAILURE_RATE_LIMIT, PolicySummary, Summary, TaskRow
from dayshift.report_charts import colour_of, render_histograms
from dayshift.report_episodes import EpisodeLists

_TAG = re.compile("<[^>]*>")
_BELOW, _ABOVE = "#2a7f62", "#b3261e"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
a { color: inherit; text-decoration-color: #8888; } .muted { opacity: .75; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { vertical-align: bottom; }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .4em; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { text-align: center; } svg { width: 100%; height: auto; }
svg text { font-size: 11px; fill: currentColor; } .grid { stroke: var(--line); }
.bar { display: flex; height: 1rem; border-radius: .3rem; overflow: hidden; } .bar div { min-width: 1px; }
.warn { border-left: .3rem solid #b3261e; padding-left: .8rem; }
details { border-bottom: 1px solid var(--line); padding: .2rem 0; overflow-wrap: anywhere; }
details :target { outline: 2px solid #c46b2d; } summary { cursor: pointer; }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: .2rem solid var(--line); white-space: pre-wrap; }
pre { white-space: pre-wrap; font-size: .8rem; margin: .2rem 0 .8rem; max-height: 14rem; overflow-y: auto; }
@media (max-width: 40rem) {
  thead { display: none; } table, tbody, tr { display: block; } tr { border-bottom: 1px solid var(--line); }
  td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0; white-space: normal; }
  td::before { content: attr(data-column); opacity: .75; text-align: left; }
  td:first-child { display: block; text-align: left; font-weight: 600; } td:first-child::before { content: none; }
}
.refused > code { text-decoration: underline dotted #b3261e; }
"""


def render_html(summary: Summary, title: str = "Dayshift report") -> str:
    lists = EpisodeLists(summary)
    names = summary.policy_names
    body = "".join(
        (
            f"<h1>{escape(title)}</h1>",
            _render_headline(summary),
            _render_section("Standings", _render_policies(summary, lists)),
            _render_section("How episodes ended", _render_counts("ended", summary.failure_classes, names, lists)),
            _render_section("Mean reward by task", _render_tasks(summary, lists)),
            _render_section("Reward", render_histograms(summary.rewards, names, "reward")),
            _render_section("Episode length", render_histograms(summary.steps, names, "steps")),
            _render_section("Mean score by check", _render_checks(summary, lists)),
            _render_section("Flags", _render_counts("flag", summary.flags, names, lists)) if summary.flags else "",
            _render_section("Environment failure rate", _render_failure_rate(summary)),
            lists.render(),
        )
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _render_headline(summary: Summary) -> str:
    counts = ", ".join(f"{number} {ending}" for ending, number in summary.endings.items())
    text = (
        f"{summary.episodes} episodes ({counts}), {summary.calls} calls, {summary.answer_bytes / 1e6:.2f} MB of answers"
    )
    versions = f"; versions of the policies: {', '.join(summary.versions)}" if summary.versions else ""
    return f'<p class="muted">{escape(text + versions)}</p>'


def _render_policies(summary: Summary, lists: EpisodeLists) -> str:
    rows = []
    for policy in summary.policies:
        name, families, judged, passed, *rest = policy.cells()
        # A share, an interval and a mean are those of all judged episodes.
        cells = (
            lists.link("judged", name, families),
            lists.link("judged", name, judged),
            lists.link("passed", name, passed),
            *(lists.link("judged", name, text) for text in rest),
        )
        rows.append((_render_name(name, summary.policy_names), *cells))
    return _render_table(tuple(map(escape, PolicySummary.HEAD)), rows)


def _render_name(policy: str, policies: list[str]) -> str:
    return f'<span class="swatch" style="background:{colour_of(policy, policies)}"></span>{escape(policy)}'


def _render_tasks(summary: Summary, lists: EpisodeLists) -> str:
    """One row for each task: what each policy earned there, how many of its episodes passed, and in how many steps."""
    names = summary.policy_names
    cells: dict[str, dict[str, str]] = {}
    for row in summary.tasks:
        cells.setdefault(row.task, {})[row.policy] = _render_task_cell(row, lists)
    rows = [(escape(task), *(by_policy.get(name, "–") for name in names)) for task, by_policy in sorted(cells.items())]
    head = ("task", *(f"{_render_name(name, names)}<br>reward · passed · steps" for name in names))
    return _render_table(head, rows)


def _render_task_cell(row: TaskRow, lists: EpisodeLists) -> str:
    reward = "–" if row.mean_reward is None else f"{row.mean_reward:+.3f}"
    text = f"{reward} · {row.endings['passed']} of {row.episodes} · {row.mean_steps:.1f}"
    return lists.link(f"task: {row.task}", row.policy, text)


def _render_counts(
    subject: str, counts: Mapping[str, Mapping[str, int]], policies: list[str], lists: EpisodeLists
) -> str:
    rows = [
        (
            escape(name),
            *(lists.link(f"{subject}: {name}", policy, str(by_policy.get(policy, 0))) for policy in policies),
        )
        for name, by_policy in counts.items()
    ]
    return _render_table(("", *(_render_name(policy, policies) for policy in policies)), rows)


def _render_checks(summary: Summary, lists: EpisodeLists) -> str:
    if not summary.checks:
        return '<p class="muted">nothing was judged</p>'
    names = summary.policy_names
    rows = [
        (
            escape(check),
            *(
                lists.link(f"check: {check}", name, f"{score.mean:.3f} ({score.findings})")
                if (score := scores.get(name)) is not None
                else "–"
                for name in names
            ),
        )
        for check, scores in summary.checks.items()
    ]
    return _render_table(("check, mean score (findings)", *(_render_name(name, names) for name in names)), rows)


def _render_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Of cells that are HTML already; on a narrow screen every cell stands on a line with its column's name."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    labels = [_TAG.sub(" ", cell).strip() for cell in head]
    lines = "".join(
        "<tr>"
        + "".join(f'<td data-column="{label}">{cell}</td>' for label, cell in zip(labels, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _render_section(title: str, inside: str) -> str:
    return f"<h2>{escape(title)}</h2>{inside}"


def _render_failure_rate(summary: Summary) -> str:
    # The bar spans twice the limit, so that the limit is in its middle.
    width = min(1.0, summary.failure_rate / (2 * FAILURE_RATE_LIMIT))
    colour = _BELOW if summary.trustworthy else _ABOVE
    inner = f'<div style="width:{width:.2%};background:{colour}"></div>'
    bar = f'<div class="bar" style="background:var(--line)">{inner}</div>'
    text = (
        f"The environment failed in {summary.failure_rate:.2%} of the episodes ({summary.harness_failures}); "
        f"the bar ends at {2 * FAILURE_RATE_LIMIT:.0%}, and the limit is {FAILURE_RATE_LIMIT:.0%}."
    )
    if summary.trustworthy:
        return f"{bar}<p>{text}</p>"
    warning = "Above the limit, the rewards describe the environment more than the policy."
    return f'{bar}<p class="warn">{text} {warning}</p>'
