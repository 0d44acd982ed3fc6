"""Conversation: what a model was told, asked and answered in one episode, in the format of its provider."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dayshift.chat_messages import ChatMessage
from dayshift.errors import UsageError
from dayshift.models.provider_answer import ContextTooLong, UnusableAnswer
from dayshift.models.valid_calls import is_valid
from dayshift.operations import OpenAiTool

# Replaces an answer that no longer fits into the model's context.
REMOVED_ANSWER = "[This answer was removed to save space. Call again if you need it.]"
_CHARS_PER_TOKEN = 4
# The newest answers are what the model works with; only a provider that finds the rest too long makes us remove more.
_KEPT_ANSWERS, _FEWEST_ANSWERS = 4, 1
# A conversation that is too long is cut to this share of its limit, so that not every turn cuts again.
_SHARE_AFTER_CUT = 0.7
# An answer without a reply is asked for again so often, after a pause that doubles; `Endpoint.retries` may allow fewer.
_ANSWER_RETRIES = 2
_FIRST_PAUSE_SECONDS = 0.5

NativeMessage = dict[str, Any]


class ModelUnavailable(UsageError):
    """The provider refuses the model or the key: no episode could be played, so the run ends."""


def explain_refusal(endpoint: "Endpoint", error: Exception) -> ModelUnavailable:
    """Says which address refuses which model: most often one of the two is mistyped."""
    where = f" at {endpoint.base_url}" if endpoint.base_url else ""
    return ModelUnavailable(f"the provider{where} refuses the model {endpoint.model!r}: {error}")


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call that a model wrote: the arguments are text, which need not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply, as the provider counts them."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One message of a model."""

    message: NativeMessage
    text: str
    calls: tuple[ToolRequest, ...]
    finish_reason: str
    reasoning: str = ""
    usage: Usage | None = None
    # Where the server returns them: token ids of the prompt and of the completion, and log probabilities.
    prompt_token_ids: tuple[int, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is asked; what is None is left to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int = 4096
    logprobs: bool = False
    token_ids: bool = False


@dataclass(frozen=True, slots=True)
class SentRequest:
    """What a request held: the first `messages`, of which those at `removed` and `repaired` were changed."""

    messages: int
    removed: list[int]
    repaired: list[int]


class Conversation(ABC):
    """The messages of one episode; `complete` asks for the next one.

    `messages` holds everything that was said. `sent` is what the model is given: the same, with the content of the
    oldest answers replaced once the whole is longer than `max_context_tokens` or than the provider takes, and with
    calls that no server takes back as they are in a form that every server takes.
    """

    def __init__(
        self, endpoint: "Endpoint", system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int
    ) -> None:
        self.endpoint = endpoint
        self.system_prompt = system_prompt
        self.tools = tools
        self.messages: list[NativeMessage] = []
        # Indexes of messages: answers that are no longer sent, and replies whose calls are sent in another form.
        self.removed: set[int] = set()
        self.repaired: set[int] = set()
        self.last_sent = SentRequest(0, [], [])
        self._answers: list[int] = []
        self._max_chars = max_context_tokens * _CHARS_PER_TOKEN
        self._fixed_chars = len(system_prompt) + len(json.dumps(tools))
        self._lengths: list[int] = []

    async def complete(self) -> Reply:
        """Asks the provider for the next message and adds it; raises ContextTooLong where no cut helps."""
        if self._length > self._max_chars:
            self._cut(int(self._max_chars * _SHARE_AFTER_CUT), _KEPT_ANSWERS)
        reply = await self._ask_within_context()
        if not all(is_valid(call.name, call.arguments) for call in reply.calls):
            self.repaired.add(len(self.messages))
        self._add(reply.message)
        return reply

    async def _ask_within_context(self) -> Reply:
        while True:
            self.last_sent = SentRequest(len(self.messages), sorted(self.removed), sorted(self.repaired))
            try:
                return await self._ask()
            except ContextTooLong:
                # The provider counts other tokens than we do, or its context is smaller than it was said to be.
                self._max_chars = int(self._length * _SHARE_AFTER_CUT)
                if not (self._cut(self._max_chars, _KEPT_ANSWERS) or self._cut(self._max_chars, _FEWEST_ANSWERS)):
                    raise

    async def _ask(self) -> Reply:
        retries = min(_ANSWER_RETRIES, self.endpoint.retries)
        for attempt in range(retries):
            try:
                return await self._request(self.sent)
            except UnusableAnswer:
                await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        return await self._request(self.sent)

    def say(self, text: str) -> None:
        self._add(self._user_message(text))

    def answer(self, call: ToolRequest, text: str) -> None:
        self._answers.append(len(self.messages))
        self._add(self._answer_message(call, text))

    @property
    def sent(self) -> list[NativeMessage]:
        return [self._as_sent(index, message) for index, message in enumerate(self.messages)]

    def _as_sent(self, index: int, message: NativeMessage) -> NativeMessage:
        if index in self.removed:
            return self._without_answer(message)
        return self._with_valid_calls(message) if index in self.repaired else message

    def _add(self, message: NativeMessage) -> None:
        self.messages.append(message)
        self._lengths.append(len(json.dumps(message, ensure_ascii=False, default=str)))

    @property
    def _length(self) -> int:
        return self._fixed_chars + sum(self._lengths)

    def _cut(self, max_chars: int, kept_answers: int) -> bool:
        """Removes the oldest answers until the rest fits, but for the newest ones; returns whether it removed any."""
        before, length = len(self.removed), self._length
        for index in self._answers[:-kept_answers]:
            if length <= max_chars:
                break
            if index not in self.removed and self._lengths[index] > len(REMOVED_ANSWER):
                self.removed.add(index)
                length -= self._lengths[index] - len(REMOVED_ANSWER)
                self._lengths[index] = len(REMOVED_ANSWER)
        return len(self.removed) > before

    @abstractmethod
    async def _request(self, messages: list[NativeMessage]) -> Reply: ...

    @abstractmethod
    def _user_message(self, text: str) -> NativeMessage: ...

    @abstractmethod
    def _answer_message(self, call: ToolRequest, text: str) -> NativeMessage: ...

    @abstractmethod
    def _without_answer(self, message: NativeMessage) -> NativeMessage:
        """The same message with REMOVED_ANSWER in place of the tool's answer."""

    @abstractmethod
    def _with_valid_calls(self, message: NativeMessage) -> NativeMessage:
        """The same reply with its calls in a form that every server takes back."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is served, and how patient the client is with its provider."""

    model: str
    base_url: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    timeout_seconds: float = 300.0
    # Rate limits, time-outs and failures of the provider: the SDK waits (as Retry-After says) and asks again.
    retries: int = 6


class Model(ABC):
    """A model of a provider; it starts one conversation for each episode."""

    provider: str

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    @abstractmethod
    def start(self, system_prompt: str, tools: Sequence[OpenAiTool], max_context_tokens: int) -> Conversation: ...

    @staticmethod
    @abstractmethod
    def to_chat(message: NativeMessage) -> list[ChatMessage]:
        """Returns a recorded message in the format of OpenAI's chat API, without reasoning."""

    @abstractmethod
    async def close(self) -> None: ...
