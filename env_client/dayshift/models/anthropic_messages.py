"""Anthropic's Messages API."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from dayshift.chat_messages import ChatMessage, assistant_message, make_tool_call
from dayshift.errors import MissingExtra
from dayshift.models.conversation import (
    REMOVED_ANSWER,
    Conversation,
    Endpoint,
    Model,
    ModelUnavailable,
    NativeMessage,
    ProviderFailure,
    Reply,
    ToolRequest,
    Usage,
)
from dayshift.operations import OpenAiTool

_NO_KEY = "none"


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
        reply = _parse_message(message)
        return [assistant_message(reply.text, [make_tool_call(c.id, c.name, c.arguments) for c in reply.calls])]

    async def close(self) -> None:
        await self.client.close()


class MessagesConversation(Conversation):
    def __init__(
        self, model: AnthropicMessages, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> None:
        super().__init__(system_prompt, tools, max_context_tokens)
        self._model = model
        self._tools = [_convert_tool(tool) for tool in tools]

    async def _request(self, messages: list[NativeMessage]) -> Reply:
        import anthropic  # an extra, which the client has imported

        endpoint, sampling = self._model.endpoint, self._model.endpoint.sampling
        options = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        try:
            message = await self._model.client.messages.create(
                model=endpoint.model,
                system=self.system_prompt,
                messages=_join_roles(messages),
                # Past the SDK's own conversion, which takes long for a list of tools that needs none.
                extra_body={"tools": self._tools},
                max_tokens=sampling.max_output_tokens,
                **{name: value for name, value in options.items() if value is not None},
            )
        except (anthropic.AuthenticationError, anthropic.PermissionDeniedError, anthropic.NotFoundError) as error:
            raise ModelUnavailable(f"the provider refuses: {error}") from error
        except anthropic.AnthropicError as error:
            raise ProviderFailure(type(error).__name__, str(error)[:1000]) from error
        except ValueError as error:
            raise ProviderFailure("BadAnswer", f"the provider's answer cannot be read: {error}"[:1000]) from error
        return _parse_message(message.model_dump(mode="json", exclude_none=True))

    def _user_message(self, text: str) -> NativeMessage:
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def _answer_message(self, call: ToolRequest, text: str) -> NativeMessage:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": text}]}

    def _without_answer(self, message: NativeMessage) -> NativeMessage:
        return {**message, "content": [{**block, "content": REMOVED_ANSWER} for block in message["content"]]}


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
    """Joins neighbours of one role, since roles must alternate; an empty reply is left out, since it is refused."""
    joined: list[NativeMessage] = []
    for message in messages:
        if not message["content"]:
            continue
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = {**joined[-1], "content": [*joined[-1]["content"], *message["content"]]}
        else:
            joined.append(dict(message))
    return joined


def _parse_message(message: Mapping[str, Any]) -> Reply:
    blocks = message.get("content") or []
    usage = message.get("usage")
    return Reply(
        message={"role": "assistant", "content": blocks},
        text="\n".join(block.get("text", "") for block in blocks if block.get("type") == "text"),
        calls=tuple(
            ToolRequest(block.get("id", ""), block.get("name", ""), json.dumps(block.get("input"), ensure_ascii=False))
            for block in blocks
            if block.get("type") == "tool_use"
        ),
        finish_reason=message.get("stop_reason") or "none",
        reasoning="\n".join(block.get("thinking", "") for block in blocks if block.get("type") == "thinking"),
        usage=None if not usage else _parse_usage(usage),
    )


def _parse_usage(usage: Mapping[str, Any]) -> Usage:
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    return Usage((usage.get("input_tokens") or 0) + cached + written, usage.get("output_tokens") or 0, cached)
