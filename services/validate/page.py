"""The validation report as one HTML file that needs nothing else."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from services.validate.summary import Summary, Tally

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1d2733 }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 2rem }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #dde3ea; vertical-align: top }
.passed { color: #14713d } .failed { color: #b3261e; font-weight: 600 } small { color: #5b6775 }
@media (prefers-color-scheme: dark) { body { background: #14181d; color: #dfe5ec } th, td { border-color: #2c343d }
.passed { color: #5fd08f } .failed { color: #ff8a80 } }
"""


def write_page(path: Path, summaries: Sequence[Summary], world: str) -> Path:
    passed = sum(summary.passed for summary in summaries)
    head = f"<h1>Validation</h1><p>{passed} of {len(summaries)} families pass in the world <b>{escape(world)}</b>.</p>"
    body = head + _overview(summaries) + "".join(_family(summary) for summary in summaries)
    path.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Dayshift validation</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>\n",
        encoding="utf-8",
    )
    return path


def _overview(summaries: Sequence[Summary]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{escape(summary.family)}">{escape(summary.family)}</a></td><td>{summary.seeds}</td>'
        f"<td>{_chance(summary)}</td><td>{_word(passed=summary.passed)}</td></tr>"
        for summary in summaries
    )
    return f"<table><tr><th>family</th><th>seeds</th><th>chance earns</th><th></th></tr>{rows}</table>"


def _family(summary: Summary) -> str:
    rows = "".join(_row(tally) for tally in summary.tallies)
    heads = "<tr><th>promise</th><th>kept</th><th></th></tr>"
    return f'<h2 id="{escape(summary.family)}">{escape(summary.family)}</h2><table>{heads}{rows}</table>'


def _row(tally: Tally) -> str:
    breaches = "".join(f"<br><small>{escape(line)}</small>" for line in (*tally.breaches, *tally.notes))
    name = tally.promise.replace("_", " ")
    return (
        f"<tr><td>{escape(name)}{breaches}</td><td>{tally.held} of {tally.tried}</td>"
        f"<td>{_word(passed=tally.passed)}</td></tr>"
    )


def _chance(summary: Summary) -> str:
    text = "–" if summary.chance is None else f"{summary.chance:+.4f}"
    return f'<span class="{"passed" if summary.chance_passed else "failed"}">{text}</span>'


def _word(*, passed: bool) -> str:
    word = "passed" if passed else "failed"
    return f'<span class="{word}">{word}</span>'
