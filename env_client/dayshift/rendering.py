"""The exchange as a reader would like it."""

import json

from dayshift.calls import Call
from dayshift.exchange import Exchange
from dayshift.trajectory import Turn
from dayshift.wire import Opened, Verdict

_LONGEST = 2_000


def render_opening(opened: Opened) -> str:
    budget = "no budget" if opened.budget is None else f"{opened.budget.steps} steps"
    return f"{opened.clock}  {opened.task or 'free play'}  ({budget})\n\n{opened.brief}\n"


def render_exchange(exchange: Exchange) -> str:
    head = f"{exchange.number:>3}  {exchange.clock}  {exchange.call}"
    return f"{head}\n     {_wire(exchange)}\n{_indented(pretty(exchange.text))}\n"


def render_turn(turn: Turn) -> str:
    steps = f", steps {turn.first} to {turn.last}" if turn.last >= turn.first else ""
    head = f"{turn.number:>3}  {turn.clock}  {Call(turn.operation, turn.arguments)}"
    return f"{head}\n     {turn.ended}{steps}\n{_indented(pretty(turn.answer))}\n"


def _wire(exchange: Exchange) -> str:
    if not exchange.sent:
        return "not sent"
    came = "no answer" if exchange.status == 0 else str(exchange.status)
    return f"{exchange.method} {exchange.target} → {came}" if exchange.product else f"→ {came}"


def render_verdict(verdict: Verdict) -> str:
    lines = [f"\n{verdict.outcome}: {verdict.reward if verdict.reward is not None else verdict.because}"]
    for finding in verdict.findings:
        mark = "✓" if finding.held else "✗"
        lines.append(f"  {mark} {finding.score:g} × {finding.weight:g}  {finding.check}: {finding.because}")
    lines += [
        f"  ! {stray.product} {stray.table} {stray.id}: {', '.join(stray.fields)}" for stray in verdict.collateral
    ]
    return "\n".join(lines) + "\n"


def pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _indented(text: str) -> str:
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… {len(text) - _LONGEST} more characters"
    return "\n".join(f"     {line}" for line in cut.splitlines())
