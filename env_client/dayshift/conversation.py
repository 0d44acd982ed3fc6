"""Conversations: calls and their answers as chat messages with tool calls, in the form of OpenAI's API."""

import json
from collections.abc import Mapping
from typing import Any

from dayshift.operations import Catalogue

ALONE = (
    "You work at a software company and use its systems through the tools you are given. "
    "Do what you are asked, change nothing else, and submit when it is done."
)
SPECIALIST = (
    "You work with one system of a software company, through the tools you are given. "
    "Do what your colleague asks, change nothing else, and report what you found and did."
)
LEAD = (
    "You lead a team at a software company. You have no system of your own: ask colleagues, who know nothing but what "
    "you tell them. See that the work is done, and submit."
)

Chat = list[dict[str, Any]]


def opened(role: str, brief: str) -> Chat:
    return [{"role": "system", "content": role}, {"role": "user", "content": brief}]


def exchanged(number: int, operation: str, arguments: Mapping[str, Any], answer: str, operations: Catalogue) -> Chat:
    """What was called, and what came back."""
    name = operations[operation].tool_name if operation in operations else operation
    function = {"name": name, "arguments": json.dumps(dict(arguments), ensure_ascii=False, default=repr)}
    called = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": called["id"], "content": answer},
    ]
