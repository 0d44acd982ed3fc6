"""Ways to be a specialist: a script, or a model behind a callable; any function from assignment to call will do."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from dayshift.calls import REPORT, SUBMIT, Call
from dayshift.conversation import LEAD, SPECIALIST, exchanged, opened
from dayshift.exchange import Exchange
from dayshift.stage import Orchestrator, Specialist
from dayshift.team import Assignment, Overview

# Yields calls and is sent what came back; returns the text of its report.
Script = Generator[Call, Exchange, str]
# Takes messages and tools in the form of OpenAI's chat API and returns the assistant's message.
Complete = Callable[[list[dict[str, Any]], list[dict[str, Any]]], Mapping[str, Any]]


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
        messages, operations = opened(SPECIALIST, assignment.request), assignment.operations
        for one in assignment.history:
            answer = f"{one.status}\n{one.text}"
            messages += exchanged(one.number, one.call.operation, one.call.arguments, answer, operations)
        said = complete(messages, operations.openai_tools())
        return _chosen(said, assignment, Call(REPORT, {"text": str(said.get("content") or "")}))

    return ask


def orchestrator_model(complete: Complete) -> Orchestrator:
    """A model as the orchestrator; when it calls no tool, its work is done."""

    def ask(overview: Overview) -> Mapping[str, Any]:
        messages, operations = opened(LEAD, overview.brief), overview.operations
        for turn in overview.history:
            messages += exchanged(turn.number, turn.operation, turn.arguments, turn.answer, operations)
        said = complete(messages, operations.openai_tools())
        return _chosen(said, overview, Call(SUBMIT))

    return ask


def _chosen(said: Mapping[str, Any], view: Assignment | Overview, otherwise: Call) -> Mapping[str, Any]:
    """The tool that the model named; one that does not exist is its misstep, and it is told so."""
    if not said.get("tool_calls"):
        return otherwise.as_action()
    function = said["tool_calls"][0]["function"]
    known = {operation.tool_name: operation.name for operation in view.operations.values()}
    return {"operation": known.get(function["name"], function["name"]), "arguments": function.get("arguments")}
