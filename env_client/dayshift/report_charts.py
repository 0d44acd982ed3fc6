"""Charts of a report's page: one bar chart for each policy, all with the same axes, as SVG."""

from collections.abc import Mapping
from html import escape
from math import ceil

from dayshift.report import Histogram

COLOURS = ("#2f6f4f", "#b5622b", "#4a5f9e", "#8a4f8f", "#7a7428", "#3f7f8c")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 360, 170, 40, 34, 8
_TICKS = 4


def render_histograms(histograms: Mapping[str, Histogram], policies: list[str], label: str) -> str:
    """Side by side; every y axis ends at the largest share, so that heights can be compared."""
    shares = {
        policy: [count / (sum(histogram.counts) or 1) for count in histogram.counts]
        for policy, histogram in histograms.items()
    }
    top = _round_up(max((max(values) for values in shares.values()), default=1.0))
    charts = "".join(
        f"<figure>{_render(histograms[policy], shares[policy], top, label, colour_of(policy, policies))}"
        f"<figcaption>{escape(policy)}</figcaption></figure>"
        for policy in policies
        if policy in histograms
    )
    return f'<div class="charts">{charts}</div>'


def colour_of(policy: str, policies: list[str]) -> str:
    return COLOURS[policies.index(policy) % len(COLOURS)]


def _round_up(share: float) -> float:
    return max(0.1, ceil(share * 10) / 10)


def _render(histogram: Histogram, shares: list[float], top: float, label: str, colour: str) -> str:
    wide, high = _WIDTH - _LEFT - 6, _HEIGHT - _TOP - _BOTTOM
    bar = wide / len(shares)
    edges = histogram.edges
    bars = "".join(
        f'<rect x="{_LEFT + place * bar + 0.5:.1f}" y="{_TOP + high * (1 - share / top):.1f}" width="{bar - 1:.1f}" '
        f'height="{high * share / top:.1f}" fill="{colour}"><title>{edges[place]:g} to {edges[place + 1]:g}: '
        f"{histogram.counts[place]} episodes, {share:.1%}</title></rect>"
        for place, share in enumerate(shares)
    )
    ticks = range(_TICKS + 1)
    y_axis = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - 6}" y1="{_y(tick, high)}" y2="{_y(tick, high)}" class="grid"/>'
        f'<text x="{_LEFT - 5}" y="{_y(tick, high)}" dy="4" text-anchor="end">{top * tick / _TICKS:.0%}</text>'
        for tick in ticks
    )
    x_axis = "".join(
        f'<text x="{_LEFT + wide * tick / _TICKS:.1f}" y="{_HEIGHT - _BOTTOM + 15}" text-anchor="middle">'
        f"{edges[0] + (edges[-1] - edges[0]) * tick / _TICKS:g}</text>"
        for tick in ticks
    )
    title = f'<text x="{_LEFT + wide / 2:.1f}" y="{_HEIGHT - 3}" text-anchor="middle">{escape(label)}</text>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="share of episodes by {escape(label)}">'
        f"{y_axis}{bars}{x_axis}{title}</svg>"
    )


def _y(tick: int, high: int) -> str:
    return f"{_TOP + high * (1 - tick / _TICKS):.1f}"
