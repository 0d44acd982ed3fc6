"""
The CRM's refusals, in the vendor's shape and words.

Refusal
├── RecordNotFound         404  OBJECT_NOT_FOUND
└── InvalidProperties      400  VALIDATION_ERROR
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from services.kernel.answers import Answer
from services.kernel.errors import (
    BodyTooLarge,
    Failure,
    KeyReused,
    MalformedRequest,
    MethodNotAllowed,
    NoSuchRoute,
    RateLimited,
    Refusal,
    Unauthenticated,
    Unavailable,
)
from services.kernel.product import Circumstance


class RecordNotFound(Refusal):
    """resource not found"""

    status = 404


class InvalidProperties(Refusal):
    """Property values were not valid"""

    status = 400

    def __init__(self, problems: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("Property values were not valid: " + json.dumps(list(problems)))


_CATEGORIES: tuple[tuple[type[Refusal], str], ...] = (
    (RecordNotFound, "OBJECT_NOT_FOUND"),
    (NoSuchRoute, "OBJECT_NOT_FOUND"),
    (Unauthenticated, "INVALID_AUTHENTICATION"),
    (KeyReused, "CONFLICT"),
    (MethodNotAllowed, "METHOD_NOT_ALLOWED"),
    (BodyTooLarge, "REQUEST_TOO_LARGE"),
    (Unavailable, "SERVICE_UNAVAILABLE"),
    (Failure, "INTERNAL_ERROR"),
    (MalformedRequest, "VALIDATION_ERROR"),
    (Refusal, "VALIDATION_ERROR"),
)
_WORDS: dict[type[Refusal], str] = {
    Unauthenticated: "Authentication credentials not found. This API supports OAuth 2.0 authentication and you can "
    "find more details at https://developers.hubspot.com/docs/methods/auth/oauth-overview",
    NoSuchRoute: "No service found for this path",
    Failure: "internal error",
}


def render(refusal: Refusal, circumstance: Circumstance) -> Answer:
    body: dict[str, Any] = {
        "status": "error",
        "message": _WORDS.get(type(refusal), refusal.message),
        "correlationId": correlation_id(circumstance),
    }
    if isinstance(refusal, RateLimited):
        body |= {
            "message": "You have reached your secondly limit.",
            "errorType": "RATE_LIMIT",
            "policyName": "SECONDLY",
        }
    else:
        body["category"] = next(category for kind, category in _CATEGORIES if isinstance(refusal, kind))
    return Answer.json(refusal.status, body, refusal.headers)


def correlation_id(circumstance: Circumstance) -> str:
    """Shaped as a UUID, drawn from what the request was: a replay correlates with the same id."""
    said = f"{circumstance.request}\x1f{circumstance.now_ms}\x1f{circumstance.method}\x1f{circumstance.path}"
    drawn = hashlib.sha256(said.encode()).hexdigest()
    return f"{drawn[:8]}-{drawn[8:12]}-{drawn[12:16]}-{drawn[16:20]}-{drawn[20:32]}"
