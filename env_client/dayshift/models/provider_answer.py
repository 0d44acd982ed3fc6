"""What a provider answered with status 200, checked before a word of it counts as the model's.

A proxy's page, a body of another shape and an error that is written into the answer hold no reply of a model. Each is
the provider's failure; `Conversation` asks again before it gives up.
"""

import json
import re
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from dayshift.errors import DayshiftError

_MAX_CHARS = 1000
# Anthropic refuses a body over its limit with 413; the others, and a prompt over the context, with 400.
_TOO_LONG_STATUSES = frozenset({400, 413})
# As OpenAI, Anthropic, vLLM, SGLang and llama.cpp say it.
_TOO_LONG = re.compile(
    r"context[ _]?(length|size|window)|(prompt|input|request).{0,40}(too long|too large|longer than|exceeds)"
    r"|request_too_large",
    re.IGNORECASE | re.DOTALL,
)


class ProviderFailure(DayshiftError):
    """The model's provider failed: it gave no answer after all retries. The episode is unscored."""

    def __init__(self, kind: str, because: str) -> None:
        super().__init__(because[:_MAX_CHARS])
        self.kind = kind


class ContextTooLong(ProviderFailure):
    """The conversation is longer than the provider takes; a shorter one may be answered."""


class UnusableAnswer(ProviderFailure):
    """The provider answered, but its answer holds no reply; the SDK takes it for a success and does not ask again."""


def explain_failure(error: Exception) -> ProviderFailure:
    """Returns the failure that an SDK's error stands for, with the cause where the SDK keeps it to itself."""
    text, cause = str(error), error.__cause__
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    if cause is not None and str(cause) and str(cause) not in text:
        text = f"{text} ({cause})"
    if getattr(error, "status_code", None) in _TOO_LONG_STATUSES and _TOO_LONG.search(text):
        return ContextTooLong("ContextTooLong", text)
    return ProviderFailure(type(error).__name__, text)


class ProviderAnswer(BaseModel):
    """The fields of an answer that are read; others are ignored."""

    error: Any = None


Answer = TypeVar("Answer", bound=ProviderAnswer)


def read_answer(kind: type[Answer], content: bytes) -> Answer:
    try:
        answer = kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise_bad_answer(f"{where}: {first['msg']}; it begins {content[:200]!r}")
    if answer.error:
        raise_error_in_answer(answer.error)
    return answer


def raise_bad_answer(because: str) -> NoReturn:
    raise UnusableAnswer("BadAnswer", f"the provider's answer cannot be read: {because}")


def raise_error_in_answer(error: object) -> NoReturn:
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    raise UnusableAnswer("ErrorInAnswer", f"the provider answered 200 with an error: {text}")
