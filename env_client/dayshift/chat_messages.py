"""Chat messages: calls and their answers in the format of OpenAI's chat API."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from dayshift.operations import Catalogue

SPECIALIST_PROMPT = (
    "You work with one system of a software company, through the tools you are given. "
    "Do what your colleague asks, change nothing else, and report what you found and did."
)
ORCHESTRATOR_PROMPT = (
    "You lead a team at a software company. You have no system of your own: ask colleagues, who know nothing but what "
    "you tell them. See that the work is done, and say so."
)


class FunctionCall(TypedDict):
    """A tool's name and its arguments: JSON text as OpenAI writes it, or an object as chat templates take it."""

    name: str
    arguments: str | dict[str, Any]


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
    # Where the provider gave the model's reasoning; chat templates know it under this name.
    reasoning_content: NotRequired[str]
    tool_calls: NotRequired[list[ToolCall]]


class ToolMessage(TypedDict):
    role: Literal["tool"]
    tool_call_id: str
    content: str


ChatMessage = TextMessage | AssistantMessage | ToolMessage


def opening_messages(system_prompt: str, brief: str) -> list[ChatMessage]:
    return [{"role": "system", "content": system_prompt}, {"role": "user", "content": brief}]


def assistant_message(text: str, calls: Sequence[ToolCall]) -> AssistantMessage:
    message: AssistantMessage = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        message["tool_calls"] = list(calls)
    return message


def make_tool_call(call_id: str, name: str, arguments: str) -> ToolCall:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_call_messages(
    number: int, operation: str, arguments: Mapping[str, Any], answer: str, operations: Catalogue
) -> list[ChatMessage]:
    """Builds the assistant's message with the call and the tool's message with the answer."""
    name = operations[operation].tool_name if operation in operations else operation
    tool_call = make_tool_call(f"call_{number}", name, json.dumps(dict(arguments), ensure_ascii=False, default=repr))
    return [
        assistant_message("", [tool_call]),
        {"role": "tool", "tool_call_id": tool_call["id"], "content": answer},
    ]
