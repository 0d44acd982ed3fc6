"""What a provider answered with status 200, checked before a word of it counts as the model's.

A proxy's page, a body of another shape and an error that is written into the answer hold no reply of a model. Each is
the provider's failure; `Conversation` asks again before it gives up.
"""

import json
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from dayshift.errors import DayshiftError

_MAX_CHARS = 1000


class ProviderFailure(DayshiftError):
    """The model's provider failed: it gave no answer after all retries. The episode is unscored."""

    def __init__(self, kind: str, because: str) -> None:
        super().__init__(because[:_MAX_CHARS])
        self.kind = kind


class UnusableAnswer(ProviderFailure):
    """The provider answered, but its answer holds no reply; the SDK takes it for a success and does not ask again."""


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
