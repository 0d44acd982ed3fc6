"""Reports: a table on the screen, JSON to keep, one HTML page to show, each beside the last run of its kind."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from loadtests.machine_description import describe_machine
from loadtests.measurements import Summary

Figures = Mapping[str, Any]
_WIDTH, _HEIGHT = 900, 180

# What is shown of every run: a label, where it stands in the JSON, and how it is written.
_ROWS: tuple[tuple[str, Callable[[Figures], Any], str], ...] = (
    ("requests", lambda run: run["responses"]["count"], ",.0f"),
    ("QPS", lambda run: run["qps"], ",.1f"),
    ("p50 ms", lambda run: run["responses"]["p50"], ".2f"),
    ("p95 ms", lambda run: run["responses"]["p95"], ".2f"),
    ("p99 ms", lambda run: run["responses"]["p99"], ".2f"),
    ("p99.9 ms", lambda run: run["responses"]["p999"], ".2f"),
    ("longest ms", lambda run: run["responses"]["longest"], ".1f"),
    ("p99 ms without submit and execute", lambda run: run.get("prompt", {}).get("p99"), ".2f"),
    ("p99 ms once sent", lambda run: run["service"]["p99"], ".2f"),
    ("errors", lambda run: run["errors"], ",.0f"),
    ("stale reads", lambda run: run["stale_reads"], ",.0f"),
    ("episodes played", lambda run: run["episodes_played"], ",.0f"),
    ("episodes at once", lambda run: run["episodes_at_once"], ",.0f"),
    ("episodes left open", lambda run: run.get("episodes_left"), ",.0f"),
    ("CPU µs/request", lambda run: run["resources"]["cpu_us_per_request"], ",.0f"),
    ("memory MB", lambda run: run["resources"]["memory_mb"], ",.0f"),
    ("memory growth %", lambda run: _percent(run["resources"]["memory_growth"]), ".2f"),
    ("open files", lambda run: run["resources"]["open_files"], ",.0f"),
    ("generator CPU %", lambda run: _percent(run["resources"]["generator_cpu_share"]), ".0f"),
    ("generator late, p99 ms", lambda run: run["resources"].get("generator_late_ms"), ".1f"),
    ("machine CPU %", lambda run: _percent(run["resources"].get("machine_cpu_share")), ".0f"),
)


def publish(summary: Summary, folder: Path, console: Console) -> Path:
    """Keep the run, show it beside the last one of its kind, and return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = f"{summary.target}-{summary.shape}".replace(" ", "-").replace("/", "").replace(":", "-")
    last = _last(folder, kind)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")  # noqa: TID251 - when the run really was
    run = {"at": stamp, "machine": describe_machine(), "tool": "Locust FastHttpUser, one process", **summary.as_json()}
    (folder / f"{kind}-{stamp}.json").write_text(json.dumps(run, indent=1, ensure_ascii=False))
    page = folder / f"{kind}-{stamp}.html"
    page.write_text(_page(run, last))
    _print(run, last, console)
    console.print(f"kept in {page.with_suffix('.json')}, shown in {page}")
    return page


def _last(folder: Path, kind: str) -> Figures | None:
    kept = sorted(folder.glob(f"{kind}-[0-9]*.json"))
    return json.loads(kept[-1].read_text()) if kept else None


def _print(run: Figures, last: Figures | None, console: Console) -> None:
    table = Table(title=_title(run))
    for heading in ("", "this run", "last run"):
        table.add_column(heading, justify="right" if heading else "left")
    for label, this, before in _compare(run, last):
        table.add_row(label, this, before)
    console.print(table)
    by_service = ", ".join(f"{name} {spent:,.0f}" for name, spent in run["resources"]["cpu_by_service"].items())
    if by_service:
        console.print(f"CPU µs/request by process: {by_service}", highlight=False)
        memory = ", ".join(f"{name} {mb:,.0f}" for name, mb in run["resources"]["memory_by_service"].items())
        console.print(f"memory MB by process at the end: {memory}", highlight=False)
        grew = ", ".join(f"{name} {mb:+.1f}" for name, mb in run["resources"]["growth_by_service"].items())
        console.print(f"memory MB by process, last quarter beside the second: {grew}", highlight=False)
    for kind, count in run["error_kinds"].items():
        console.print(f"[red]{count} × {kind}[/red]", markup=True, highlight=False)
    for violation in run["violations"]:
        console.print(f"WRONG ANSWER: {violation}", style="bold red", highlight=False)


def _compare(run: Figures, last: Figures | None) -> list[tuple[str, str, str]]:
    return [
        (label, _format(value(run), form), "" if last is None else _format(value(last), form))
        for label, value, form in _ROWS
    ]


def _format(value: float | None, form: str) -> str:
    return "not measured" if value is None else format(value, form)


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _title(run: Figures) -> str:
    where = f"{run['target']} stack, world {run['world']!r}"
    return f"{run['shape']} on the {where}, {run['seconds']:g} s, {run['users']} users"


def _page(run: Figures, last: Figures | None) -> str:
    compared = "".join(
        f"<tr><td>{html.escape(label)}<td>{this}<td>{before}</tr>" for label, this, before in _compare(run, last)
    )
    names = "".join(
        f"<tr><td>{html.escape(name)}<td>{figures['count']:,}<td>{figures['p50']:.2f}<td>{figures['p95']:.2f}<td>{figures['p99']:.2f}"
        f"<td>{figures['p999']:.2f}</tr>"
        for name, figures in run["by_name"].items()
    )
    failures = "".join(f"<li>{count} × {html.escape(kind)}</li>" for kind, count in run["error_kinds"].items())
    violations = "".join(f"<li>{html.escape(figures)}</li>" for figures in run["violations"])
    series = run["timeline"]
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(_title(run))}</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2em auto;color:#222}}
table{{border-collapse:collapse;margin:1em 0}}td,th{{padding:.15em .9em;text-align:right;border-bottom:1px solid #ddd}}
td:first-child,th:first-child{{text-align:left}}svg{{background:#fafafa;width:100%}}figcaption{{color:#666}}</style>
<h1>{html.escape(_title(run))}</h1>
<p>{html.escape(run["at"])} · {html.escape(run["machine"])} · measured with {html.escape(run["tool"])};
response times count from when a request was due, not from when it was sent.</p>
<table><tr><th><th>this run<th>last run</tr>{compared}</table>
{_chart("requests a second", series, ("qps",))}{_chart("response time, ms: p50 and p99", series, ("p50", "p99"))}
<table><tr><th>call<th>count<th>p50<th>p95<th>p99<th>p99.9</tr>{names}</table>
<h2>Errors</h2><ul>{failures or "<li>none</li>"}</ul>
<h2>Stale or wrong reads</h2><ul>{violations or "<li>none</li>"}</ul></html>"""


def _chart(title: str, series: Sequence[Mapping[str, float]], names: tuple[str, ...]) -> str:
    if not series:
        return ""
    top = max((point[name] for point in series for name in names), default=0.0) or 1.0
    width = max(len(series) - 1, 1)
    lines = ""
    for name, colour in zip(names, ("#2563eb", "#dc2626"), strict=False):
        points = " ".join(
            f"{at / width * _WIDTH:.1f},{_HEIGHT - point[name] / top * (_HEIGHT - 10):.1f}"
            for at, point in enumerate(series)
        )
        lines += f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>'
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}">{lines}</svg>'
        f"<figcaption>{html.escape(title)} (top: {top:,.1f})</figcaption></figure>"
    )
