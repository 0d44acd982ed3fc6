"""Anthropic's Messages API."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from dayshift.chat_messages import ChatMessage, assistant_message, make_tool_call
from dayshift.errors import MissingExtra
from dayshift.models.conversation import (
    REMOVED_ANSWER,
    Conversation,
    Endpoint,
    Model,
    ModelUnavailable,
    NativeMessage,
    Reply,
    ToolRequest,
    Usage,
    explain_refusal,
)
from dayshift.models.provider_answer import ProviderAnswer, explain_failure, raise_bad_answer, read_answer
from dayshift.models.valid_calls import make_name_valid, make_valid_object
from dayshift.operations import OpenAiTool

_NO_KEY = "none"
# Anthropic keeps the prompt up to such a block for some minutes: the next turn reads it at a tenth of the price.
_CACHED = {"cache_control": {"type": "ephemeral"}}


class AnthropicMessages(Model):
    """A model behind `POST /v1/messages`."""

    provider = "anthropic"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.client = _create_client(endpoint)

    def start(self, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int) -> "MessagesConversation":
        return MessagesConversation(self, system_prompt, tools, max_context_tokens)

    @staticmethod
    def to_chat(message: NativeMessage) -> list[ChatMessage]:
        if message["role"] == "user":
            return [_user_to_chat(block) for block in message["content"]]
        reply = _build_reply(_Message.model_validate(message))
        return [assistant_message(reply.text, [make_tool_call(c.id, c.name, c.arguments) for c in reply.calls])]

    async def close(self) -> None:
        await self.client.close()


class MessagesConversation(Conversation):
    def __init__(
        self, model: AnthropicMessages, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> None:
        super().__init__(model.endpoint, system_prompt, tools, max_context_tokens)
        self._model = model
        self._tools = [_convert_tool(tool) for tool in tools]

    async def _request(self, messages: list[NativeMessage]) -> Reply:
        import anthropic  # an extra, which the client has imported

        endpoint, sampling = self.endpoint, self.endpoint.sampling
        options = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        try:
            answer = await self._model.client.messages.with_raw_response.create(
                model=endpoint.model,
                # The tools come before the system prompt, and are kept with it.
                system=[{"type": "text", "text": self.system_prompt, **_CACHED}],
                messages=[],
                # Past the SDK's own conversion, as in chat completions.
                extra_body={"messages": _mark_end(_join_roles(messages)), "tools": self._tools},
                max_tokens=sampling.max_output_tokens,
                **{name: value for name, value in options.items() if value is not None},
            )
        except (anthropic.AuthenticationError, anthropic.PermissionDeniedError, anthropic.NotFoundError) as error:
            raise explain_refusal(endpoint, error) from error
        except anthropic.AnthropicError as error:
            raise explain_failure(error) from error
        return _build_reply(read_answer(_Message, answer.http_response.content))

    def _user_message(self, text: str) -> NativeMessage:
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def _answer_message(self, call: ToolRequest, text: str) -> NativeMessage:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": text}]}

    def _without_answer(self, message: NativeMessage) -> NativeMessage:
        return {**message, "content": [{**block, "content": REMOVED_ANSWER} for block in message["content"]]}

    def _with_valid_calls(self, message: NativeMessage) -> NativeMessage:
        return {**message, "content": [_make_call_valid(block) for block in message["content"]]}


def _create_client(endpoint: Endpoint) -> Any:
    try:
        import anthropic  # an extra
    except ImportError as error:
        raise MissingExtra("anthropic", "models") from error
    key = os.environ.get("ANTHROPIC_API_KEY") or (_NO_KEY if endpoint.base_url else None)
    if key is None:
        raise ModelUnavailable("set ANTHROPIC_API_KEY, or name a server of your own with --base-url")
    return anthropic.AsyncAnthropic(
        api_key=key, base_url=endpoint.base_url, timeout=endpoint.timeout_seconds, max_retries=endpoint.retries
    )


def _user_to_chat(block: Mapping[str, Any]) -> ChatMessage:
    if block["type"] == "tool_result":
        return {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
    return {"role": "user", "content": block["text"]}


def _convert_tool(tool: OpenAiTool) -> dict[str, Any]:
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }


def _join_roles(messages: Sequence[NativeMessage]) -> list[NativeMessage]:
    """Joins neighbours of one role, since roles must alternate; empty texts are left out, since they are refused."""
    joined: list[NativeMessage] = []
    for message in messages:
        content = [block for block in message["content"] if not _is_blank(block)]
        if not content:
            continue
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = {**joined[-1], "content": [*joined[-1]["content"], *content]}
        else:
            joined.append({**message, "content": content})
    return joined


def _mark_end(messages: list[NativeMessage]) -> list[NativeMessage]:
    """Marks the last block, which the user or a tool wrote, as the end of what is kept."""
    *before, last = messages
    *blocks, end = last["content"]
    return [*before, {**last, "content": [*blocks, {**end, **_CACHED}]}]


def _is_blank(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _make_call_valid(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if block.get("type") != "tool_use":
        return block
    return {**block, "name": make_name_valid(block.get("name", "")), "input": make_valid_object(block.get("input"))}


class _Block(BaseModel):
    """A block of a reply; fields that are not read are kept for the next request."""

    model_config = ConfigDict(extra="allow")

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class _MessageUsage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(ProviderAnswer):
    content: list[_Block] | None = None
    stop_reason: str | None = None
    usage: _MessageUsage | None = None


def _build_reply(message: _Message) -> Reply:
    if message.content is None:
        raise_bad_answer("it holds no content")
    blocks = message.content
    return Reply(
        message={
            "role": "assistant",
            "content": [block.model_dump(exclude_unset=True, exclude_none=True) for block in blocks],
        },
        text="\n".join(block.text or "" for block in blocks if block.type == "text"),
        calls=tuple(
            ToolRequest(block.id or "", block.name or "", json.dumps(block.input, ensure_ascii=False))
            for block in blocks
            if block.type == "tool_use"
        ),
        finish_reason=message.stop_reason or "none",
        reasoning="\n".join(block.thinking or "" for block in blocks if block.type == "thinking"),
        usage=None if message.usage is None else _convert_usage(message.usage),
    )


def _convert_usage(usage: _MessageUsage) -> Usage:
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return Usage((usage.input_tokens or 0) + cached + written, usage.output_tokens or 0, cached)
