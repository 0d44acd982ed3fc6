"""Plays one episode with a model: asks for a message, makes the calls in it, hands the answers back."""

from dataclasses import dataclass, field
from time import perf_counter

from dayshift import job_description
from dayshift.episode import AsyncEpisode
from dayshift.errors import EpisodeOver
from dayshift.model_record import ModelRecord, ModelTurn
from dayshift.models import Conversation, Model, Reply, ToolRequest
from dayshift.models.conversation import SentRequest
from dayshift.models.provider_answer import ContextTooLong
from dayshift.tool_surface import Surface

# Replies in a row without a call; then the model is taken to be done.
_MAX_SILENT_REPLIES = 3


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars for a million tokens."""

    input: float
    output: float
    # Of input that the provider has in its cache; None: as of other input.
    cached: float | None = None

    def cost(self, record: ModelRecord) -> float:
        cached = self.input if self.cached is None else self.cached
        fresh_tokens = record.input_tokens - record.cached_tokens
        return (fresh_tokens * self.input + record.cached_tokens * cached + record.output_tokens * self.output) / 1e6


@dataclass
class ModelEpisode:
    """One episode of one model."""

    model: Model
    episode: AsyncEpisode
    surface: Surface
    max_context_tokens: int
    prices: Prices | None = None
    turns: list[ModelTurn] = field(default_factory=list)
    context_exhausted: bool = False
    conversation: Conversation = field(init=False)

    def __post_init__(self) -> None:
        tools = self.surface.openai_tools()
        self.conversation = self.model.start(job_description.system_prompt(), tools, self.max_context_tokens)
        self.conversation.say(job_description.first_message(self.episode.brief, self.episode.clock))

    async def play(self) -> None:
        """Plays until there is a verdict.

        A model that stops calling tools, or whose conversation fills its context, hands its work in as it is.
        """
        silent_replies = 0
        while not self.episode.over and silent_replies < _MAX_SILENT_REPLIES:
            try:
                reply = await self._take_turn()
            except ContextTooLong:
                if not self.turns:
                    # The tools and the brief alone are too long: nothing that the model wrote.
                    raise
                self.context_exhausted = True
                break
            silent_replies = 0 if reply.calls else silent_replies + 1
            if not reply.calls:
                self.conversation.say(job_description.CONTINUE)
        if not self.episode.over:
            await self.episode.submit()

    async def _take_turn(self) -> Reply:
        conversation, started, first = self.conversation, perf_counter(), len(self.episode.steps)
        reply = await conversation.complete()
        request, seconds = conversation.last_sent, perf_counter() - started
        for call in reply.calls:
            conversation.answer(call, await self._call(call))
        self.turns.append(_record_turn(reply, request, seconds, first, len(self.episode.steps)))
        return reply

    async def _call(self, call: ToolRequest) -> str:
        """Makes one call; every call of a message gets an answer, also those after the last step of the budget."""
        if self.episode.over:
            return "Your work is finished."
        try:
            return await self.surface.call(self.episode, call.name, call.arguments)
        except EpisodeOver:
            if not self.episode.over:
                await self.episode.submit()
            return "Your working time is over."

    def record(self) -> ModelRecord:
        endpoint = self.model.endpoint
        record = ModelRecord(
            provider=self.model.provider,
            model=endpoint.model,
            sampling={name: getattr(endpoint.sampling, name) for name in type(endpoint.sampling).__dataclass_fields__},
            system_prompt=self.conversation.system_prompt,
            system_prompt_version=job_description.VERSION,
            surface=self.surface.name,
            tool_tokens=self.surface.tokens,
            max_context_tokens=self.max_context_tokens,
            messages=self.conversation.messages,
            turns=self.turns,
            context_exhausted=self.context_exhausted,
        )
        if self.prices is None:
            return record
        return record.model_copy(update={"cost": self.prices.cost(record)})


def _record_turn(reply: Reply, request: SentRequest, seconds: float, first: int, last: int) -> ModelTurn:
    usage = reply.usage
    return ModelTurn(
        messages_sent=request.messages,
        removed=request.removed,
        repaired=request.repaired,
        finish_reason=reply.finish_reason,
        reasoning=reply.reasoning,
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
        cached_tokens=usage.cached_tokens if usage else 0,
        seconds=seconds,
        first_step=first + 1,
        last_step=last,
        prompt_token_ids=None if reply.prompt_token_ids is None else list(reply.prompt_token_ids),
        token_ids=None if reply.token_ids is None else list(reply.token_ids),
        logprobs=None if reply.logprobs is None else list(reply.logprobs),
    )
