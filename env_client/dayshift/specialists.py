"""Builds specialists and orchestrators from scripts and from models.

Any function from a `SpecialistInput` to a call is a specialist.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from dayshift.calls import REPORT, SUBMIT, Action, Call
from dayshift.chat_messages import (
    ORCHESTRATOR_PROMPT,
    SPECIALIST_PROMPT,
    ChatMessage,
    opening_messages,
    tool_call_messages,
)
from dayshift.operations import Catalogue, OpenAiTool
from dayshift.step import Step
from dayshift.team import OrchestratorInput, SpecialistInput
from dayshift.team_runner import Orchestrator, Specialist

# A script yields calls, is sent each step, and returns the text of its report.
Script = Generator[Call, Step, str]
# Takes messages and tools of OpenAI's chat API and returns the assistant's message.
Complete = Callable[[list[ChatMessage], list[OpenAiTool]], Mapping[str, Any]]


def specialist_from_script(script: Callable[[str], Script]) -> Specialist:
    """Returns a specialist that follows a script, which is a function of the request.

    The script starts again at every step and is sent the earlier steps, so that one specialist serves many episodes.
    """

    def follow(specialist_input: SpecialistInput) -> Call:
        calls = script(specialist_input.request)
        try:
            call = next(calls)
            for step in specialist_input.history:
                call = calls.send(step)
        except StopIteration as stop:
            return Call(REPORT, {"text": stop.value or ""})
        return call

    return follow


def specialist_from_model(complete: Complete) -> Specialist:
    """Returns a specialist that is a model; a message without a tool call is its report."""

    def choose(specialist_input: SpecialistInput) -> Action:
        operations = specialist_input.operations
        messages = opening_messages(SPECIALIST_PROMPT, specialist_input.request)
        for step in specialist_input.history:
            answer = f"{step.status}\n{step.text}"
            messages += tool_call_messages(step.number, step.call.operation, step.call.arguments, answer, operations)
        reply = complete(messages, operations.openai_tools())
        return _parse_reply(reply, operations) or Call(REPORT, {"text": str(reply.get("content") or "")})

    return choose


def orchestrator_from_model(complete: Complete) -> Orchestrator:
    """Returns an orchestrator that is a model; a message without a tool call submits."""

    def choose(orchestrator_input: OrchestratorInput) -> Action:
        operations = orchestrator_input.operations
        messages = opening_messages(ORCHESTRATOR_PROMPT, orchestrator_input.brief)
        for turn in orchestrator_input.history:
            messages += tool_call_messages(turn.number, turn.operation, turn.arguments, turn.answer, operations)
        return _parse_reply(complete(messages, operations.openai_tools()), operations) or Call(SUBMIT)

    return choose


def _parse_reply(reply: Mapping[str, Any], operations: Catalogue) -> Action | None:
    """Returns the first tool call of a reply; an unknown tool stays as it is, and the environment answers so."""
    if not reply.get("tool_calls"):
        return None
    function = reply["tool_calls"][0]["function"]
    operation = operations.find(function["name"])
    name = function["name"] if operation is None else operation.name
    return {"operation": name, "arguments": function.get("arguments")}
