"""
The CRM's refusals, in the vendor's shape and words.

Refusal
├── RecordNotFound         404  OBJECT_NOT_FOUND    no such record, pipeline, property, list …
├── AlreadyExists          409  CONFLICT            a unique value, or a name, is taken
├── InvalidRequest         400  VALIDATION_ERROR    well-formed, and impossible all the same
│   ├── InvalidProperties  400  VALIDATION_ERROR    values that their definitions do not allow
│   └── MissingProperties  400  VALIDATION_ERROR    a record without what its type requires
└── Forbidden              403  MISSING_SCOPES      the vendor's own definitions do not change
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from services.crm.rows import Body
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

Context = Mapping[str, Sequence[str]]


class CrmRefusal(Refusal):
    """A refusal with the fields that the vendor adds to its errors."""

    category: ClassVar[str] = "VALIDATION_ERROR"

    def __init__(self, message: str = "", *, sub_category: str | None = None, context: Context | None = None) -> None:
        super().__init__(message)
        self.sub_category = sub_category
        self.context = context

    @property
    def details(self) -> list[Body]:
        return []


class RecordNotFound(CrmRefusal):
    """resource not found"""

    status = 404
    category = "OBJECT_NOT_FOUND"


class AlreadyExists(CrmRefusal):
    """Something of that name or value exists already."""

    status = 409
    category = "CONFLICT"


class InvalidRequest(CrmRefusal):
    """The request is well-formed, and impossible all the same."""


class Forbidden(CrmRefusal):
    """This definition belongs to the account's platform and cannot be changed."""

    status = 403
    category = "MISSING_SCOPES"


@dataclass(frozen=True, slots=True)
class PropertyProblem:
    """One value that its definition does not allow."""

    name: str
    message: str
    code: str

    def as_body(self) -> Body:
        return {
            "isValid": False,
            "message": self.message,
            "error": self.code,
            "name": self.name,
            "localizedErrorMessage": self.message,
        }


class InvalidProperties(InvalidRequest):
    """Property values were not valid"""

    def __init__(self, problems: Sequence[PropertyProblem]) -> None:
        listed = json.dumps([problem.as_body() for problem in problems], ensure_ascii=False, separators=(",", ":"))
        super().__init__(f"Property values were not valid: {listed}")
        self.problems = tuple(problems)

    @property
    def details(self) -> list[Body]:
        return [
            {"message": problem.message, "code": problem.code, "context": {"propertyName": [problem.name]}}
            for problem in self.problems
        ]


class MissingProperties(InvalidRequest):
    """Some required properties were not set."""

    def __init__(self, singular: str, names: Sequence[str]) -> None:
        super().__init__(
            f"Error creating {singular.upper()}. Some required properties were not set.",
            context={"properties": list(names)},
        )


_CATEGORIES: tuple[tuple[type[Refusal], str], ...] = (
    (NoSuchRoute, "OBJECT_NOT_FOUND"),
    (Unauthenticated, "INVALID_AUTHENTICATION"),
    (KeyReused, "CONFLICT"),
    (MethodNotAllowed, "METHOD_NOT_ALLOWED"),
    (UnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE"),
    (BodyTooLarge, "REQUEST_TOO_LARGE"),
    (Unavailable, "SERVICE_UNAVAILABLE"),
    (Failure, "INTERNAL_ERROR"),
    (Refusal, "VALIDATION_ERROR"),
)
_MESSAGES: dict[type[Refusal], str] = {
    Unauthenticated: "Authentication credentials not found. This API supports OAuth 2.0 authentication and you can "
    "find more details at https://developers.hubspot.com/docs/methods/auth/oauth-overview",
    NoSuchRoute: "No service found for this path",
    Failure: "internal error",
}


def render(refusal: Refusal, request: RequestContext) -> Answer:
    body: Body = {
        "status": "error",
        "message": _MESSAGES.get(type(refusal), refusal.message),
        "correlationId": correlation_id(request),
    }
    match refusal:
        case RateLimited():
            body |= {
                "message": "You have reached your secondly limit.",
                "errorType": "RATE_LIMIT",
                "policyName": "SECONDLY",
            }
        case CrmRefusal():
            body |= _describe(refusal)
        case MalformedRequest() if refusal.problems:
            body |= {
                "message": f"Invalid input JSON on line 1, column 1: {refusal.message}"
                if refusal.problems[0].where.startswith("body")
                else refusal.message,
                "category": "VALIDATION_ERROR",
                "errors": [_detail(problem) for problem in refusal.problems[:20]],
            }
        case _:
            body["category"] = next(
                category for refusal_type, category in _CATEGORIES if isinstance(refusal, refusal_type)
            )
    return Answer.json(refusal.status, body, refusal.headers)


def standard_error(refusal: CrmRefusal, context: Context) -> Body:
    """Renders a refusal as one of the errors inside a 207."""
    described = _describe(refusal)
    return {
        "status": "error",
        "category": refusal.category,
        "message": refusal.message,
        "errors": described.get("errors", []),
        "context": {**(described.get("context") or {}), **context},
        "links": {},
    }


def correlation_id(request: RequestContext) -> str:
    """Makes an id in the form of a UUID from the request's own facts: a replay gets the same id."""
    facts = f"{request.request}\x1f{request.now_ms}\x1f{request.method}\x1f{request.path}"
    digest = hashlib.sha256(facts.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def _describe(refusal: CrmRefusal) -> Body:
    body: Body = {"category": refusal.category}
    if refusal.sub_category is not None:
        body["subCategory"] = refusal.sub_category
    if refusal.details:
        body["errors"] = refusal.details
    if refusal.context is not None:
        body["context"] = {name: list(values) for name, values in refusal.context.items()}
    return body


def _detail(problem: Problem) -> Body:
    return {"message": problem.message, "in": problem.where, "code": problem.kind.upper()}
