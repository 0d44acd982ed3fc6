"""OpenAI's Responses API."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

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
from dayshift.models.provider_answer import ProviderAnswer, raise_bad_answer, raise_error_in_answer, read_answer
from dayshift.models.valid_calls import make_name_valid, make_valid
from dayshift.operations import OpenAiTool

# The items of one reply travel together: reasoning must stay in front of the call that it led to.
_ITEMS = "items"
# A reply that is cut off is the model's own. Any other status says that there is no reply: failed, cancelled, queued.
_FINISHED = frozenset({"completed", "incomplete", None})
_REASONING = "reasoning.encrypted_content"
# What OpenAI says of a model that does not reason.
_NO_REASONING = "Encrypted content is not supported"


class OpenAiResponses(Model):
    """A model behind `POST /responses`."""

    provider = "openai-responses"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.client = create_client(endpoint)
        # Encrypted reasoning, which nobody but the provider can read, travels with the conversation; a model that does
        # not reason refuses to be asked for it.
        self.includes_reasoning = True

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
        reply = _build_reply(_Response.model_validate({"output": message[_ITEMS]}))
        return [assistant_message(reply.text, [make_tool_call(c.id, c.name, c.arguments) for c in reply.calls])]

    async def close(self) -> None:
        await self.client.close()


class ResponsesConversation(Conversation):
    def __init__(
        self, model: OpenAiResponses, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> None:
        super().__init__(model.endpoint, system_prompt, tools, max_context_tokens)
        self._model = model
        self._tools = [{"type": "function", "strict": False, **tool["function"]} for tool in tools]

    async def _request(self, messages: list[NativeMessage]) -> Reply:
        import openai  # an extra, which the client has imported

        model = self._model
        included = model.includes_reasoning
        async with translate_errors(self.endpoint):
            try:
                content = await self._create(messages)
            except openai.BadRequestError as error:
                if not included or _NO_REASONING not in str(error):
                    raise
                model.includes_reasoning = False
                content = await self._create(messages)
        return _build_reply(read_answer(_Response, content))

    async def _create(self, messages: list[NativeMessage]) -> bytes:
        endpoint, sampling = self.endpoint, self.endpoint.sampling
        options = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "include": [_REASONING] if self._model.includes_reasoning else None,
        }
        items = [item for message in messages for item in message.get(_ITEMS, [message])]
        answer = await self._model.client.responses.with_raw_response.create(
            model=endpoint.model,
            instructions=self.system_prompt,
            # Past the SDK's own conversion, as in chat completions.
            extra_body={"input": items, "tools": self._tools},
            max_output_tokens=sampling.max_output_tokens,
            store=False,
            **{name: value for name, value in options.items() if value is not None},
        )
        content: bytes = answer.http_response.content
        return content

    def _user_message(self, text: str) -> NativeMessage:
        return {"role": "user", "content": text}

    def _answer_message(self, call: ToolRequest, text: str) -> NativeMessage:
        return {"type": "function_call_output", "call_id": call.id, "output": text}

    def _without_answer(self, message: NativeMessage) -> NativeMessage:
        return {**message, "output": REMOVED_ANSWER}

    def _with_valid_calls(self, message: NativeMessage) -> NativeMessage:
        return {_ITEMS: [_make_call_valid(item) for item in message[_ITEMS]]}


def _make_call_valid(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") != "function_call":
        return item
    return {
        **item,
        "name": make_name_valid(item.get("name", "")),
        "arguments": make_valid(item.get("arguments", "")),
    }


class _Item(BaseModel):
    """An item of a reply; fields that are not read are kept for the next request."""

    model_config = ConfigDict(extra="allow")

    type: str | None = None
    content: Any = None
    summary: Any = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Incomplete(BaseModel):
    reason: str | None = None


class _ResponseUsage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Response(ProviderAnswer):
    status: str | None = None
    output: list[_Item] | None = None
    incomplete_details: _Incomplete | None = None
    usage: _ResponseUsage | None = None


def _build_reply(response: _Response) -> Reply:
    if response.status not in _FINISHED:
        raise_error_in_answer(f"status {response.status}")
    if response.output is None:
        raise_bad_answer("it holds no output")
    by_type: dict[str | None, list[_Item]] = {}
    for item in response.output:
        by_type.setdefault(item.type, []).append(item)
    reason = response.incomplete_details.reason if response.incomplete_details is not None else None
    usage = response.usage
    return Reply(
        message={_ITEMS: [item.model_dump(exclude_unset=True, exclude_none=True) for item in response.output]},
        text="\n".join(text for item in by_type.get("message", ()) for text in _read_texts(item.content)),
        calls=tuple(
            ToolRequest(item.call_id or "", item.name or "", item.arguments or "")
            for item in by_type.get("function_call", ())
        ),
        finish_reason=reason or response.status or "none",
        reasoning="\n".join(text for item in by_type.get("reasoning", ()) for text in _read_texts(item.summary)),
        usage=None if usage is None else Usage(usage.input_tokens or 0, usage.output_tokens or 0),
    )


def _read_texts(parts: Any) -> list[str]:
    found = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return [text for text in found if isinstance(text, str)]
