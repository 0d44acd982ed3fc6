"""Chat messages: calls and their answers in the format of OpenAI's chat API."""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from dayshift.operations import Catalogue

SOLO_PROMPT = (
    "You work at a software company and use its systems through the tools you are given. "
    "Do what you are asked, change nothing else, and say so when your work is done."
)
SPECIALIST_PROMPT = (
    "You work with one system of a software company, through the tools you are given. "
    "Do what your colleague asks, change nothing else, and report what you found and did."
)
ORCHESTRATOR_PROMPT = (
    "You lead a team at a software company. You have no system of your own: ask colleagues, who know nothing but what "
    "you tell them. See that the work is done, and say so."
)


class FunctionCall(TypedDict):
    """A tool's name and its arguments as JSON text."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    id: str
    type: Literal["function"]
    function: FunctionCall


class TextMessage(TypedDict):
    role: Literal["system", "user"]
    content: str


class AssistantMessage(TypedDict):
    role: Literal["assistant"]
    content: str | None
    tool_calls: list[ToolCall]


class ToolMessage(TypedDict):
    role: Literal["tool"]
    tool_call_id: str
    content: str


ChatMessage = TextMessage | AssistantMessage | ToolMessage


def opening_messages(system_prompt: str, brief: str) -> list[ChatMessage]:
    return [{"role": "system", "content": system_prompt}, {"role": "user", "content": brief}]


def tool_call_messages(
    number: int, operation: str, arguments: Mapping[str, Any], answer: str, operations: Catalogue
) -> list[ChatMessage]:
    """Builds the assistant's message with the call and the tool's message with the answer."""
    name = operations[operation].tool_name if operation in operations else operation
    function: FunctionCall = {
        "name": name,
        "arguments": json.dumps(dict(arguments), ensure_ascii=False, default=repr),
    }
    tool_call: ToolCall = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [tool_call]},
        {"role": "tool", "tool_call_id": tool_call["id"], "content": answer},
    ]
