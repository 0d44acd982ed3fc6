"""Models of other people: one file for each protocol of a provider, on the provider's own SDK."""

from dayshift.errors import UsageError
from dayshift.models.anthropic_messages import AnthropicMessages
from dayshift.models.conversation import (
    Conversation,
    Endpoint,
    Model,
    ModelUnavailable,
    Reply,
    Sampling,
    ToolRequest,
    Usage,
)
from dayshift.models.openai_chat import OpenAiChat
from dayshift.models.openai_responses import OpenAiResponses
from dayshift.models.provider_answer import ProviderFailure

PROVIDERS: dict[str, type[Model]] = {
    model.provider: model for model in (OpenAiChat, OpenAiResponses, AnthropicMessages)
}

__all__ = [
    "PROVIDERS",
    "Conversation",
    "Endpoint",
    "Model",
    "ModelUnavailable",
    "ProviderFailure",
    "Reply",
    "Sampling",
    "ToolRequest",
    "Usage",
    "create_model",
]


def create_model(
    name: str,
    *,
    base_url: str | None = None,
    sampling: Sampling | None = None,
    timeout_seconds: float = 300.0,
    retries: int = 6,
) -> Model:
    """Creates a model by its name: `openai/gpt-5`, `openai-responses/gpt-5`, `anthropic/claude-opus-4`."""
    provider, _, model = name.partition("/")
    if provider not in PROVIDERS or not model:
        raise UsageError(f"a model is PROVIDER/NAME with a provider of {', '.join(PROVIDERS)}, not {name!r}")
    endpoint = Endpoint(model, base_url, sampling or Sampling(), timeout_seconds, retries)
    return PROVIDERS[provider](endpoint)
