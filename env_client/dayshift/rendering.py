"""Rendering: openings, steps, turns and verdicts as text."""

import json

from dayshift.calls import Call
from dayshift.step import Step
from dayshift.trajectory import Turn
from dayshift.wire import Opened, Verdict

_MAX_CHARS = 2_000


def render_opening(opened: Opened) -> str:
    budget = "no budget" if opened.budget is None else f"{opened.budget.steps} steps"
    return f"{opened.clock}  {opened.task or 'free play'}  ({budget})\n\n{opened.brief}\n"


def render_step(step: Step) -> str:
    head = f"{step.number:>3}  {step.clock}  {step.call}"
    return f"{head}\n     {_describe_exchange(step)}\n{_indent(format_json(step.text))}\n"


def render_turn(turn: Turn) -> str:
    steps = f", steps {turn.first} to {turn.last}" if turn.last >= turn.first else ""
    head = f"{turn.number:>3}  {turn.clock}  {Call(turn.operation, turn.arguments)}"
    return f"{head}\n     {turn.ended}{steps}\n{_indent(format_json(turn.answer))}\n"


def _describe_exchange(step: Step) -> str:
    if not step.sent:
        return "not sent"
    status = "no answer" if step.status == 0 else str(step.status)
    return f"{step.method} {step.target} → {status}" if step.product else f"→ {status}"


def render_verdict(verdict: Verdict) -> str:
    lines = [f"\n{verdict.outcome}: {verdict.reward if verdict.reward is not None else verdict.because}"]
    for finding in verdict.findings:
        mark = "✓" if finding.held else "✗"
        earned = f"{finding.score * finding.weight:.3g} of {finding.weight:.3g}"
        lines.append(f"  {mark} {earned}  {finding.check}: {finding.because}")
    lines += [
        f"  ! {change.product} {change.table} {change.id}: {', '.join(change.fields)}" for change in verdict.collateral
    ]
    is_told = verdict.collateral or not all(finding.held for finding in verdict.findings)
    if verdict.reward is not None and verdict.because is not None and not is_told:
        lines.append(f"  {verdict.because}")
    return "\n".join(lines) + "\n"


def format_json(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _indent(text: str) -> str:
    shown = text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}\n… {len(text) - _MAX_CHARS} more characters"
    return "\n".join(f"     {line}" for line in shown.splitlines())
