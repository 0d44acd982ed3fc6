"""
Billing's refusals, in the vendor's shape and words.

Refusal
├── InvalidRequest          400  invalid_request_error   the request is well formed and cannot be done
│   ├── NoSuchObject        404  resource_missing        no object has the id in the path
│   └── NoSuchReference     400  resource_missing        no object has the id in a parameter
└── Declined                402  card_error              the bank declined; the failed attempt is kept
    └── DeclinedAndUndone   402  card_error              the bank declined, and everything is undone
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from services.kernel.answers import Answer
from services.kernel.errors import (
    BodyTooLarge,
    Failure,
    KeyReused,
    MalformedRequest,
    MethodNotAllowed,
    NoSuchRoute,
    Problem,
    RateLimited,
    Refusal,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)
from services.kernel.product import RequestContext

_DOCS = "https://stripe.com/docs/error-codes/"
_LOGS = "https://dashboard.stripe.com/logs/"


class InvalidRequest(Refusal):
    """The request is well formed and cannot be done."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class NoSuchReference(InvalidRequest):
    """No object has the id in a parameter."""

    def __init__(self, kind: str, key: str, param: str | None) -> None:
        super().__init__(f"No such {kind}: '{key}'", param, "resource_missing")


class NoSuchObject(NoSuchReference):
    """No object has the id in the path."""

    status = 404

    def __init__(self, kind: str, key: str) -> None:
        super().__init__(kind, key, "id")


class Declined(Refusal):
    """The bank declined; the attempt is kept, with its failed charge."""

    status = 402
    stands = True

    def __init__(
        self, message: str, code: str, decline_code: str | None, charge: str | None = None, intent: Any = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.decline_code = decline_code
        self.charge = charge
        self.intent = intent


class DeclinedAndUndone(Declined):
    """The bank declined, and the client wants everything undone in that case."""

    stands = False


_ERROR_CODES = {
    "missing": "parameter_missing",
    "extra_forbidden": "parameter_unknown",
    "int_parsing": "parameter_invalid_integer",
    "int_from_float": "parameter_invalid_integer",
    "string_too_short": "parameter_invalid_empty",
    "string_too_long": "parameter_invalid_string_blank",
}


def render(refusal: Refusal, context: RequestContext) -> Answer:
    request_id = request_id_of(context.now_ms, context.path)
    error = {"type": "invalid_request_error", **_error_fields(refusal, context)}
    if code := error.get("code"):
        error["doc_url"] = _DOCS + str(code).replace("_", "-")
    error["request_log_url"] = _LOGS + request_id
    status = 400 if isinstance(refusal, KeyReused | UnsupportedMediaType) else refusal.status
    error = {name: value for name, value in error.items() if value is not None}
    return Answer.json(status, {"error": error}, {"request-id": request_id, **refusal.headers})


def request_id_of(now_ms: int, path: str = "") -> str:
    """Time moves with every request of an episode, so it tells them apart; outside of one only the path does."""
    source = f"{now_ms}" if now_ms else path
    return "req_" + hashlib.sha256(source.encode()).hexdigest()[:14]


def _error_fields(refusal: Refusal, context: RequestContext) -> Mapping[str, Any]:
    match refusal:
        case InvalidRequest():
            return {"code": refusal.code, "message": refusal.message, "param": refusal.param}
        case Declined():
            return _decline_fields(refusal)
        case MalformedRequest() if refusal.problems:
            return _problem_fields(refusal.problems[0])
        case Unauthenticated():
            return {"message": "Invalid API Key provided."}
        case NoSuchRoute() | MethodNotAllowed():
            where = f"({context.method}: {context.path})"
            return {"message": f"Unrecognized request URL {where}. Please see https://stripe.com/docs."}
        case KeyReused():
            return {
                "type": "idempotency_error",
                "message": "Keys for idempotent requests can only be used with the same parameters they were first "
                "used with. Use another key if you meant to execute a different request.",
            }
        case UnsupportedMediaType():
            return {"message": "Send parameters as application/x-www-form-urlencoded."}
        case BodyTooLarge():
            return {"message": "Request body is too large."}
        case RateLimited():
            return {"code": "rate_limit", "message": "Request rate limit exceeded."}
        case Unavailable() | Failure():
            return {"type": "api_error", "message": "Sorry! There was an error while talking to our servers."}
    return {"message": refusal.message}


def _decline_fields(refusal: Declined) -> Mapping[str, Any]:
    return {
        "type": "card_error",
        "code": refusal.code,
        "decline_code": refusal.decline_code,
        "message": refusal.message,
        "charge": refusal.charge,
        "payment_intent": refusal.intent,
    }


def _problem_fields(problem: Problem) -> Mapping[str, Any]:
    param = param_name(problem.where)
    match problem.kind:
        case "missing":
            message = f"Missing required param: {param}."
        case "extra_forbidden":
            message = f"Received unknown parameter: {param}"
        case "int_parsing" | "int_from_float":
            message = f"Invalid integer: {param}"
        case _:
            message = f"Invalid {param}: {problem.message}"
    return {"code": _ERROR_CODES.get(problem.kind), "message": message, "param": param}


def param_name(where: str) -> str:
    """Writes `body.items.0.price` as the vendor does, `items[0][price]`; pydantic's notes on unions are left out."""
    parts = [part for part in where.split(".")[1:] if part.isidentifier() or part.isdigit()]
    parts = [part for part in parts if not part[:1].isupper() and part not in ("int", "str", "bool", "float")]
    return parts[0] + "".join(f"[{part}]" for part in parts[1:]) if parts else "body"
