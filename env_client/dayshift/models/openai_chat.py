"""Chat completions of OpenAI, and of the servers that speak its protocol: vLLM, SGLang, llama.cpp, Ollama."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from dayshift.chat_messages import ChatMessage
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

# A local server asks for no key, but the SDK does not start without one.
_NO_KEY = "none"


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
        return [cast(ChatMessage, message)]

    async def close(self) -> None:
        await self.client.close()


class ChatConversation(Conversation):
    def __init__(
        self, model: OpenAiChat, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> None:
        super().__init__(system_prompt, tools, max_context_tokens)
        self._model = model
        self._add({"role": "system", "content": system_prompt})

    async def _request(self, messages: list[NativeMessage]) -> Reply:
        endpoint, sampling = self._model.endpoint, self._model.endpoint.sampling
        options: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "logprobs": True if sampling.logprobs else None,
        }
        # Past the SDK's own conversion, which takes most of a request's time for a list of tools that needs none.
        extra: dict[str, Any] = {"tools": list(self.tools)}
        if sampling.token_ids:
            extra["return_token_ids"] = True
        # OpenAI's own reasoning models refuse `max_tokens`, and other servers do not know the newer name.
        limit = "max_tokens" if endpoint.base_url else "max_completion_tokens"
        async with translate_errors():
            completion = await self._model.client.chat.completions.create(
                model=endpoint.model,
                messages=messages,
                extra_body=extra,
                **{limit: sampling.max_output_tokens},
                **{name: value for name, value in options.items() if value is not None},
            )
        return _parse_completion(completion.model_dump(mode="json"))

    def _user_message(self, text: str) -> NativeMessage:
        return {"role": "user", "content": text}

    def _answer_message(self, call: ToolRequest, text: str) -> NativeMessage:
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    def _without_answer(self, message: NativeMessage) -> NativeMessage:
        return {**message, "content": REMOVED_ANSWER}


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
async def translate_errors() -> AsyncIterator[None]:
    """Says of each error of the SDK whether it ends this episode or the whole run."""
    import openai  # an extra, which the client has imported

    try:
        yield
    except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError) as error:
        raise ModelUnavailable(f"the provider refuses: {error}") from error
    except openai.OpenAIError as error:
        raise ProviderFailure(type(error).__name__, str(error)[:1000]) from error
    except ValueError as error:
        # The SDK reads the answer itself; one that is not JSON is the provider's failure.
        raise ProviderFailure("BadAnswer", f"the provider's answer cannot be read: {error}"[:1000]) from error


def _parse_completion(completion: Mapping[str, Any]) -> Reply:
    choices = completion.get("choices") or [{}]
    choice = choices[0]
    message = choice.get("message") or {}
    calls = tuple(
        ToolRequest(call.get("id") or "", call["function"].get("name") or "", call["function"].get("arguments") or "")
        for call in message.get("tool_calls") or ()
        if call.get("function")
    )
    return Reply(
        message=_assistant_message(message, calls),
        text=message.get("content") or "",
        calls=calls,
        finish_reason=choice.get("finish_reason") or "none",
        reasoning=message.get("reasoning_content") or message.get("reasoning") or "",
        usage=_parse_usage(completion.get("usage")),
        prompt_token_ids=_integers(completion.get("prompt_token_ids")),
        token_ids=_integers(choice.get("token_ids")),
        logprobs=_parse_logprobs(choice.get("logprobs")),
    )


def _assistant_message(message: Mapping[str, Any], calls: Sequence[ToolRequest]) -> NativeMessage:
    """The reply as it is sent back; an empty one gets an empty text, since servers refuse a message without both."""
    tool_calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    content = message.get("content") or (None if tool_calls else "")
    return {"role": "assistant", "content": content, **({"tool_calls": tool_calls} if tool_calls else {})}


def _parse_usage(usage: Mapping[str, Any] | None) -> Usage | None:
    if not usage:
        return None
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0, details.get("cached_tokens") or 0
    )


def _parse_logprobs(logprobs: Mapping[str, Any] | None) -> tuple[float, ...] | None:
    content = (logprobs or {}).get("content")
    return None if not content else tuple(token["logprob"] for token in content)


def _integers(values: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if values is None else tuple(values)
