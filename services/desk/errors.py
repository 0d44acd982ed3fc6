"""
The desk's refusals, in the vendor's shapes and words.

Refusal
├── RecordNotFound      404  RecordNotFound     nothing has that id, or the caller may not see it
├── RecordInvalid       422  RecordInvalid      a value, or a change, that the desk does not allow
├── UpdateConflict      409  UpdateConflict     a safe update of a ticket that somebody has changed since
├── Forbidden           403  Forbidden          an end user at an agent's address
├── InvalidSearch       422  invalid            a query or a page that the search refuses
└── InvalidParameter    400  Invalid attribute  a parameter whose value makes no sense
"""

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

ErrorBody = dict[str, Any]
_TICKETS = "/api/v2/tickets"
_SLOW_DOWN = (
    b"<html><body><h1>429 Too Many Requests</h1><p>Number of allowed API requests per minute exceeded</p></body></html>"
)


class RecordNotFound(Refusal):
    """Not found"""

    status = 404


class RecordInvalid(Refusal):
    """Record validation errors"""

    status = 422

    def __init__(self, field: str, description: str, error: str = "InvalidValue") -> None:
        super().__init__(description)
        self.field = field
        self.error = error


class UpdateConflict(Refusal):
    """Safe Update prevented the update due to outdated ticket data. Please fetch the latest data and try again."""

    status = 409


class Forbidden(Refusal):
    """You do not have access to this page. Please contact the account owner of this help desk for further help."""

    status = 403


class InvalidSearch(Refusal):
    """Invalid search"""

    status = 422


class InvalidParameter(Refusal):
    """The value of a parameter makes no sense."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"You passed an invalid value for the {name} attribute. {message}")


class TooManyValues(Refusal):
    """Too many values"""

    def __init__(self, name: str, most: int) -> None:
        super().__init__(f"You passed too many values in the `{name}` attribute. Maximum allowed size is {most}")


def render(refusal: Refusal, context: RequestContext) -> Answer:
    if isinstance(refusal, RateLimited) and _updates_a_ticket(context):
        headers = tuple((name.encode(), value.encode()) for name, value in refusal.headers.items())
        return Answer(429, _SLOW_DOWN, ((b"content-type", b"text/html; charset=utf-8"), *headers))
    status = 400 if isinstance(refusal, UnsupportedMediaType) else refusal.status
    return Answer.json(status, _render_body(refusal), refusal.headers)


def _updates_a_ticket(context: RequestContext) -> bool:
    return context.method == "PUT" and context.path.startswith(_TICKETS)


def _render_body(refusal: Refusal) -> ErrorBody:
    match refusal:
        case RecordInvalid():
            return _invalid({refusal.field: [{"description": refusal.message, "error": refusal.error}]})
        case RecordNotFound():
            return {"error": "RecordNotFound", "description": refusal.message}
        case UpdateConflict():
            return {"error": "UpdateConflict", "description": refusal.message}
        case InvalidSearch():
            return {"error": "invalid", "description": refusal.message}
        case TooManyValues():
            return {"error": "TooManyValues", "description": refusal.message}
        case Forbidden():
            return _make_body("Forbidden", refusal.message)
        case InvalidParameter():
            return _make_body("Invalid attribute", refusal.message)
        case _:
            return _render_kernel_refusal(refusal)


def _render_kernel_refusal(refusal: Refusal) -> ErrorBody:
    match refusal:
        case MalformedRequest() if refusal.problems:
            return _make_body("Invalid attribute", _describe_problem(refusal.problems[0]))
        case Unauthenticated():
            return {"error": "Couldn't authenticate you"}
        case NoSuchRoute():
            return {"error": "InvalidEndpoint", "description": "Not found"}
        case MethodNotAllowed():
            return {"error": "MethodNotAllowed", "description": "This address does not take that method"}
        case KeyReused():
            return {"error": "IdempotentRequestError", "description": refusal.message}
        case UnsupportedMediaType():
            return {"error": "UnsupportedContentType", "description": "Content-Type must be application/json"}
        case BodyTooLarge():
            return {"error": "PayloadTooLarge", "description": refusal.message}
        case RateLimited():
            return {
                "error": "APIRateLimitExceeded",
                "description": "Number of allowed API requests per minute exceeded",
            }
        case Unavailable() | Failure():
            return {"error": "InternalError", "description": "Please try again later"}
    return _make_body("Bad request", refusal.message)


def _invalid(details: Mapping[str, Any]) -> ErrorBody:
    return {"error": "RecordInvalid", "description": "Record validation errors", "details": dict(details)}


def _make_body(title: str, message: str) -> ErrorBody:
    return {"error": {"title": title, "message": message}}


def _describe_problem(problem: Problem) -> str:
    names = [part for part in problem.where.split(".")[1:] if part.islower() or part.isdigit()]
    name = ".".join(names) or "body"
    if problem.kind == "missing":
        return f"Parameter {name} is required"
    return f"You passed an invalid value for the {name} attribute. {problem.message}"
