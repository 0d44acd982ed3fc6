"""Ways to be a specialist: a script, or a model behind a callable; any function from assignment to call will do."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from dayshift.calls import REPORT, SUBMIT, Call
from dayshift.exchange import Exchange
from dayshift.stage import Orchestrator, Specialist
from dayshift.team import Assignment, Overview
from dayshift.trajectory import Turn

# Yields calls and is sent what came back; returns the text of its report.
Script = Generator[Call, Exchange, str]
# Takes messages and tools in the form of OpenAI's chat API and returns the assistant's message.
Complete = Callable[[list[dict[str, Any]], list[dict[str, Any]]], Mapping[str, Any]]

_ROLE = (
    "You work with one system of a software company, through the tools you are given. "
    "Do what your colleague asks, change nothing else, and report what you found and did."
)
_LEAD = (
    "You lead a team at a software company. You have no system of your own: ask colleagues, who know nothing but what "
    "you tell them. See that the work is done, and submit."
)


def scripted(script: Callable[[str], Script]) -> Specialist:
    """A specialist that follows a script made from the request.

    The script is read anew from the beginning at every step, so that one specialist can serve many episodes at once.
    """

    def follow(assignment: Assignment) -> Call:
        lines = script(assignment.request)
        try:
            asked = next(lines)
            for exchange in assignment.history:
                asked = lines.send(exchange)
        except StopIteration as done:
            return Call(REPORT, {"text": done.value or ""})
        return asked

    return follow


def specialist_model(complete: Complete) -> Specialist:
    """A model as a specialist; what it says without calling a tool is its report."""

    def ask(assignment: Assignment) -> Mapping[str, Any]:
        messages = [_said("system", _ROLE), _said("user", assignment.request)]
        for exchange in assignment.history:
            messages += _exchanged(exchange.number, exchange.call, f"{exchange.status}\n{exchange.text}")
        said = complete(messages, assignment.operations.openai_tools())
        return _chosen(said, assignment, Call(REPORT, {"text": str(said.get("content") or "")}))

    return ask


def orchestrator_model(complete: Complete) -> Orchestrator:
    """A model as the orchestrator; when it calls no tool, its work is done."""

    def ask(overview: Overview) -> Mapping[str, Any]:
        messages = [_said("system", _LEAD), _said("user", overview.brief)]
        for turn in overview.history:
            messages += _exchanged(turn.number, _call_of(turn), turn.answer)
        said = complete(messages, overview.operations.openai_tools())
        return _chosen(said, overview, Call(SUBMIT))

    return ask


def _said(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _exchanged(number: int, call: Call, answer: str) -> Sequence[dict[str, Any]]:
    name = call.operation.replace(".", "_")
    function = {"name": name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False, default=repr)}
    asked = {"id": f"call_{number}", "type": "function", "function": function}
    return (
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": answer},
    )


def _call_of(turn: Turn) -> Call:
    return Call(turn.operation, turn.arguments)


def _chosen(said: Mapping[str, Any], view: Assignment | Overview, otherwise: Call) -> Mapping[str, Any]:
    """The tool that the model named; one that does not exist is its misstep, and it is told so."""
    if not said.get("tool_calls"):
        return otherwise.as_action()
    function = said["tool_calls"][0]["function"]
    known = {operation.tool_name: operation.name for operation in view.operations.values()}
    return {"operation": known.get(function["name"], function["name"]), "arguments": function.get("arguments")}
