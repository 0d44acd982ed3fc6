"""ModelRecord: what a model was sent and what it wrote in one episode, as training needs it."""

from typing import Any

from pydantic import Field

from dayshift.wire import Message


class ModelTurn(Message):
    """One request to the model and its reply; steps `first_step` to `last_step` are the calls that it asked for."""

    # The model was sent the first `messages_sent` of the record's messages, with the answers at `removed` cut out, and
    # with the calls of the replies at `repaired` in a form that every server takes back.
    messages_sent: int
    removed: list[int] = Field(default_factory=list)
    repaired: list[int] = Field(default_factory=list)
    finish_reason: str
    reasoning: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    first_step: int
    last_step: int
    prompt_token_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None


class ModelRecord(Message):
    """The conversation of one episode in the provider's own format."""

    provider: str
    model: str
    sampling: dict[str, Any]
    system_prompt: str
    system_prompt_version: str
    surface: str
    tool_tokens: int
    max_context_tokens: int
    messages: list[dict[str, Any]]
    turns: list[ModelTurn]
    # The conversation no longer fitted into the model's context, so its work was handed in as it was.
    context_exhausted: bool = False
    # Dollars by the prices that the caller gave; None where none were given.
    cost: float | None = None

    @property
    def input_tokens(self) -> int:
        return sum(turn.input_tokens for turn in self.turns)

    @property
    def output_tokens(self) -> int:
        return sum(turn.output_tokens for turn in self.turns)

    @property
    def cached_tokens(self) -> int:
        """Those of the input that the provider had in its cache."""
        return sum(turn.cached_tokens for turn in self.turns)

    @property
    def seconds(self) -> float:
        """The time that the provider took."""
        return sum(turn.seconds for turn in self.turns)
