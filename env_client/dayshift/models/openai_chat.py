"""Chat completions of OpenAI, and of the servers that speak its protocol: vLLM, SGLang, llama.cpp, Ollama."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from pydantic import BaseModel

from dayshift.chat_messages import ChatMessage, ToolCall
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
from dayshift.models.provider_answer import (
    ProviderAnswer,
    explain_failure,
    raise_bad_answer,
    raise_error_in_answer,
    read_answer,
)
from dayshift.models.valid_calls import make_name_valid, make_valid
from dayshift.operations import OpenAiTool

# A local server asks for no key, but the SDK does not start without one.
_NO_KEY = "none"
# OpenRouter writes the first where its upstream failed in the middle of a reply; vLLM and SGLang write the second where
# the server itself gave a request up.
_FAILED = frozenset({"error", "abort"})
# Where a server tells what a model thought. It is sent back under the same name: DeepSeek refuses a conversation
# without it, and chat templates of vLLM, SGLang and llama.cpp show it to the model, which otherwise forgets its plan.
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")


class OpenAiChat(Model):
    """A model behind `POST /chat/completions`."""

    provider = "openai"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.client = create_client(endpoint)

    def start(self, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int) -> "ChatConversation":
        return ChatConversation(self, system_prompt, tools, max_context_tokens)

    @staticmethod
    def to_chat(message: NativeMessage) -> list[ChatMessage]:
        return [cast(ChatMessage, {name: value for name, value in message.items() if name not in _REASONING})]

    async def close(self) -> None:
        await self.client.close()


class ChatConversation(Conversation):
    def __init__(
        self, model: OpenAiChat, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> None:
        super().__init__(model.endpoint, system_prompt, tools, max_context_tokens)
        self._model = model
        self._add({"role": "system", "content": system_prompt})

    async def _request(self, messages: list[NativeMessage]) -> Reply:
        endpoint, sampling = self.endpoint, self.endpoint.sampling
        options: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "logprobs": True if sampling.logprobs else None,
        }
        # Past the SDK's own conversion, which walks through every field of what needs none: it would take most of a
        # run's own time, and more with every turn.
        extra: dict[str, Any] = {"messages": messages, "tools": list(self.tools)}
        if sampling.token_ids:
            extra["return_token_ids"] = True
        # OpenAI's own reasoning models refuse `max_tokens`, and other servers do not know the newer name.
        limit = "max_tokens" if endpoint.base_url else "max_completion_tokens"
        async with translate_errors(endpoint):
            answer = await self._model.client.chat.completions.with_raw_response.create(
                model=endpoint.model,
                messages=[],
                extra_body=extra,
                **{limit: sampling.max_output_tokens},
                **{name: value for name, value in options.items() if value is not None},
            )
        return _build_reply(read_answer(_Completion, answer.http_response.content))

    def _user_message(self, text: str) -> NativeMessage:
        return {"role": "user", "content": text}

    def _answer_message(self, call: ToolRequest, text: str) -> NativeMessage:
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    def _without_answer(self, message: NativeMessage) -> NativeMessage:
        return {**message, "content": REMOVED_ANSWER}

    def _with_valid_calls(self, message: NativeMessage) -> NativeMessage:
        return {**message, "tool_calls": [make_call_valid(call) for call in message["tool_calls"]]}


def make_call_valid(call: ToolCall) -> ToolCall:
    """Returns a call of OpenAI's chat API as it is sent back to a server."""
    function = call["function"]
    return {
        **call,
        "function": {
            **function,
            "name": make_name_valid(function["name"]),
            "arguments": make_valid(str(function["arguments"])),
        },
    }


def create_client(endpoint: Endpoint) -> Any:
    """Creates the SDK's client; its retries cover rate limits, time-outs and 5xx."""
    try:
        import openai  # an extra
    except ImportError as error:
        raise MissingExtra("openai", "models") from error
    key = os.environ.get("OPENAI_API_KEY") or (_NO_KEY if endpoint.base_url else None)
    if key is None:
        raise ModelUnavailable("set OPENAI_API_KEY, or name a server of your own with --base-url")
    return openai.AsyncOpenAI(
        api_key=key, base_url=endpoint.base_url, timeout=endpoint.timeout_seconds, max_retries=endpoint.retries
    )


@asynccontextmanager
async def translate_errors(endpoint: Endpoint) -> AsyncIterator[None]:
    """Says of each error of the SDK whether it ends this episode or the whole run."""
    import openai  # an extra, which the client has imported

    try:
        yield
    except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError) as error:
        raise explain_refusal(endpoint, error) from error
    except openai.OpenAIError as error:
        raise explain_failure(error) from error


class _Function(BaseModel):
    name: str | None = None
    # Text; some servers write the object itself.
    arguments: Any = None


class _ToolCall(BaseModel):
    id: str | None = None
    function: _Function | None = None


class _ReplyMessage(BaseModel):
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_ToolCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Any = None


class _TokenLogprob(BaseModel):
    logprob: float


class _Logprobs(BaseModel):
    content: list[_TokenLogprob] | None = None


class _Choice(BaseModel):
    message: _ReplyMessage | None = None
    finish_reason: str | None = None
    error: Any = None
    token_ids: tuple[int, ...] | None = None
    logprobs: _Logprobs | None = None


class _TokenDetails(BaseModel):
    cached_tokens: int | None = None


class _ChatUsage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _TokenDetails | None = None


class _Completion(ProviderAnswer):
    choices: list[_Choice] | None = None
    usage: _ChatUsage | None = None
    prompt_token_ids: tuple[int, ...] | None = None


def _build_reply(completion: _Completion) -> Reply:
    if not completion.choices:
        raise_bad_answer("it holds no choice")
    choice = completion.choices[0]
    if choice.error or choice.finish_reason in _FAILED:
        raise_error_in_answer(choice.error or f"finish_reason {choice.finish_reason}")
    if choice.message is None:
        raise_bad_answer("its choice holds no message")
    message = choice.message
    calls = tuple(
        # Some servers give calls no ids; an answer names its call by one.
        ToolRequest(call.id or f"call_{number}", call.function.name or "", _write_arguments(call.function.arguments))
        for number, call in enumerate(message.tool_calls or ())
        if call.function is not None
    )
    logprobs = choice.logprobs.content if choice.logprobs is not None else None
    return Reply(
        message={**_assistant_message(message.content, calls), **_keep_reasoning(message)},
        text=_join_text(message.content),
        calls=calls,
        finish_reason=choice.finish_reason or "none",
        reasoning=message.reasoning_content or message.reasoning or "",
        usage=_convert_usage(completion.usage),
        prompt_token_ids=completion.prompt_token_ids,
        token_ids=choice.token_ids,
        logprobs=tuple(token.logprob for token in logprobs) if logprobs else None,
    )


def _write_arguments(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _join_text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if part.get("text"))
    return content or ""


def _assistant_message(content: str | list[dict[str, Any]] | None, calls: Sequence[ToolRequest]) -> NativeMessage:
    """The reply as it is sent back; an empty one gets an empty text, since servers refuse a message without both."""
    tool_calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    content = content or (None if tool_calls else "")
    return {"role": "assistant", "content": content, **({"tool_calls": tool_calls} if tool_calls else {})}


def _keep_reasoning(message: _ReplyMessage) -> dict[str, Any]:
    return {name: value for name in _REASONING if (value := getattr(message, name)) is not None}


def _convert_usage(usage: _ChatUsage | None) -> Usage | None:
    if usage is None:
        return None
    details = usage.prompt_tokens_details or _TokenDetails()
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, details.cached_tokens or 0)
