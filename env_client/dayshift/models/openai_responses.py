"""OpenAI's Responses API."""

from collections.abc import Mapping, Sequence
from typing import Any

from dayshift.chat_messages import ChatMessage, assistant_message, make_tool_call
from dayshift.models.conversation import (
    REMOVED_ANSWER,
    Conversation,
    Endpoint,
    Model,
    NativeMessage,
    Reply,
    ToolRequest,
    Usage,
)
from dayshift.models.openai_chat import create_client, translate_errors
from dayshift.operations import OpenAiTool

# The items of one reply travel together: reasoning must stay in front of the call that it led to.
_ITEMS = "items"


class OpenAiResponses(Model):
    """A model behind `POST /responses`."""

    provider = "openai-responses"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.client = create_client(endpoint)

    def start(
        self, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> "ResponsesConversation":
        return ResponsesConversation(self, system_prompt, tools, max_context_tokens)

    @staticmethod
    def to_chat(message: NativeMessage) -> list[ChatMessage]:
        if message.get("type") == "function_call_output":
            return [{"role": "tool", "tool_call_id": message["call_id"], "content": message["output"]}]
        if _ITEMS not in message:
            return [{"role": message["role"], "content": message["content"]}]
        reply = _parse_response({"output": message[_ITEMS]})
        return [assistant_message(reply.text, [make_tool_call(c.id, c.name, c.arguments) for c in reply.calls])]

    async def close(self) -> None:
        await self.client.close()


class ResponsesConversation(Conversation):
    def __init__(
        self, model: OpenAiResponses, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> None:
        super().__init__(system_prompt, tools, max_context_tokens)
        self._model = model
        self._tools = [{"type": "function", "strict": False, **tool["function"]} for tool in tools]

    async def _request(self, messages: list[NativeMessage]) -> Reply:
        endpoint, sampling = self._model.endpoint, self._model.endpoint.sampling
        options = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        items = [item for message in messages for item in message.get(_ITEMS, [message])]
        async with translate_errors():
            response = await self._model.client.responses.create(
                model=endpoint.model,
                instructions=self.system_prompt,
                input=items,
                # Past the SDK's own conversion, as in chat completions.
                extra_body={"tools": self._tools},
                max_output_tokens=sampling.max_output_tokens,
                store=False,
                include=["reasoning.encrypted_content"],
                **{name: value for name, value in options.items() if value is not None},
            )
        return _parse_response(response.model_dump(mode="json", exclude_none=True))

    def _user_message(self, text: str) -> NativeMessage:
        return {"role": "user", "content": text}

    def _answer_message(self, call: ToolRequest, text: str) -> NativeMessage:
        return {"type": "function_call_output", "call_id": call.id, "output": text}

    def _without_answer(self, message: NativeMessage) -> NativeMessage:
        return {**message, "output": REMOVED_ANSWER}


def _parse_response(response: Mapping[str, Any]) -> Reply:
    items = response.get("output") or []
    by_type: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        by_type.setdefault(item.get("type", ""), []).append(item)
    texts = [part.get("text", "") for item in by_type.get("message", ()) for part in item.get("content") or ()]
    thoughts = [part.get("text", "") for item in by_type.get("reasoning", ()) for part in item.get("summary") or ()]
    usage = response.get("usage")
    details = response.get("incomplete_details") or {}
    return Reply(
        message={_ITEMS: list(items)},
        text="\n".join(texts),
        calls=tuple(
            ToolRequest(item.get("call_id", ""), item.get("name", ""), item.get("arguments", ""))
            for item in by_type.get("function_call", ())
        ),
        finish_reason=details.get("reason") or response.get("status") or "none",
        reasoning="\n".join(thoughts),
        usage=None if not usage else Usage(usage.get("input_tokens", 0), usage.get("output_tokens", 0)),
    )
