"""The messages of OpenEnv's protocol, as its clients send and read them."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

from dayshift.errors import DayshiftError, EpisodeOver, HarnessFault
from dayshift.integrations.sessions import NoSuchSession, ServerFull
from dayshift.operations import Operation

NAME = "dayshift"


class CallToolAction(BaseModel):
    """Calls a tool; `{"type": "list_tools"}` returns the tools."""

    # OpenEnv's clients read the title: with this one they list the tools first.
    model_config = ConfigDict(extra="forbid", title="CallToolAction")

    type: Literal["call_tool", "list_tools"] = "call_tool"
    tool_name: str = Field(default="", max_length=300)
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class ToolError(BaseModel):
    error_type: Literal["execution_error", "invalid_args", "transport_error", "tool_not_found", "timeout"]
    message: str


class CallToolObservation(BaseModel):
    """The answer to a call. What a product refuses stands in `result`; `error` is a call that could not be made."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    tool_name: str
    result: str | None
    error: ToolError | None = None


class ResetObservation(BaseModel):
    """What there is to do."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    brief: str


class State(BaseModel):
    episode_id: str | None = None
    step_count: int = 0


class StepBody(BaseModel):
    """`POST /step`."""

    action: dict[str, Any]
    episode_id: str | None = None
    timeout_s: float | None = Field(default=None, gt=0)
    # The same id again returns the same answer and makes no second call.
    request_id: str | None = Field(default=None, max_length=200)


class Frame(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: str
    data: dict[str, Any] = Field(default_factory=dict)


class SplitBody(BaseModel):
    split: str


class TaskBody(SplitBody):
    index: int


class RangeBody(SplitBody):
    start: int | None = None
    stop: int | None = None


def is_plain_call(action: Mapping[str, Any]) -> bool:
    """Whether an action needs no further look: almost all are such."""
    return (
        action.keys() <= {"type", "tool_name", "arguments"}
        and action.get("type", "call_tool") == "call_tool"
        and isinstance(action.get("tool_name"), str)
        and len(action["tool_name"]) <= 300
        and isinstance(action.get("arguments", {}), dict)
    )


def describe_tool(tool: Operation) -> dict[str, Any]:
    described = tool.anthropic_tool()
    return {name: described[name] for name in ("name", "description", "input_schema")}


def describe_failure(failure: DayshiftError, usage_code: str) -> dict[str, Any]:
    match failure:
        case ServerFull():
            return error_frame(
                str(failure), "CAPACITY_REACHED", active_sessions=failure.active, max_sessions=failure.most
            )
        case NoSuchSession():
            return error_frame(str(failure), "SESSION_ERROR")
        case EpisodeOver() | HarnessFault():
            return error_frame(str(failure), "EXECUTION_ERROR")
        case _:
            return error_frame(str(failure), usage_code)


def error_frame(message: str, code: str, **more: Any) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code, **more}}


def rpc_error(number: object, code: int, message: str, data: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": {"code": code, "message": message, "data": data}, "id": number}


def list_errors(invalid: ValidationError) -> list[dict[str, Any]]:
    return [
        {"type": problem["type"], "loc": list(problem["loc"]), "msg": problem["msg"]}
        for problem in invalid.errors(include_url=False, include_input=False, include_context=False)
    ]


def encode(message: object) -> bytes:
    return to_json(message)


def decode(text: str | bytes) -> Any:
    """Raises a ValueError for what is no JSON, or nested too deeply."""
    return from_json(text, allow_inf_nan=False)
