"""What the bodies of every noun have in common."""

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

Item = TypeVar("Item")

Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9_.\-]+$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=250)]
RecordId = Annotated[str, StringConstraints(min_length=1, max_length=254)]
TypeId = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Order = Annotated[int, Field(strict=True, ge=-1, le=2**31 - 1)]
Flag = Annotated[bool, Field(strict=True)]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def _only_words(value: Any) -> Any:
    """`true` and `false` in any case; not 1, on or yes, which a looser reader would take."""
    if isinstance(value, str) and value.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return value


def _only_digits(value: Any) -> Any:
    """Digits, as a client prints a number; not 1_000, +5 or 5.0."""
    if isinstance(value, str) and not (value.isascii() and value.isdecimal()):
        raise ValueError("must be a whole number")
    return value


def as_text(value: str | float | bool | None) -> str | None:
    """JSON numbers and booleans are taken for the text they spell."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


QueryFlag = Annotated[bool, BeforeValidator(_only_words)]
QueryNumber = Annotated[int, BeforeValidator(_only_digits)]
PropertyText = Annotated[str, StringConstraints(max_length=65536)]
PropertyValue = PropertyText | int | float | bool | None


class In(BaseModel):
    """A request body: what it does not know it refuses."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Out(BaseModel):
    """A response body, as documented; it is never built, the answers are plain dicts."""


class ErrorDetail(Out):
    """One thing wrong with a request."""

    message: str
    code: str | None = None
    in_: str | None = Field(default=None, alias="in")
    context: dict[str, list[str]] | None = None


class ErrorOut(Out):
    """Why a request was declined."""

    status: str = Field(examples=["error"])
    message: str
    correlationId: str
    category: str | None = None
    subCategory: str | None = None
    errorType: str | None = None
    policyName: str | None = None
    errors: list[ErrorDetail] | None = None
    context: dict[str, list[str]] | None = None


class StandardError(Out):
    """One input of a batch that failed while others did not."""

    status: str
    category: str
    message: str
    errors: list[ErrorDetail]
    context: dict[str, list[str]]
    links: dict[str, str]


class NextPage(Out):
    """Where the next page starts."""

    after: str
    link: str | None = None


class Paging(Out):
    """Present only if there is a next page."""

    next: NextPage


class BatchOut(Out, Generic[Item]):
    """What became of a batch."""

    status: str = Field(examples=["COMPLETE"])
    results: list[Item]
    startedAt: Moment
    completedAt: Moment
    requestedAt: Moment | None = None
    numErrors: int | None = None
    errors: list[StandardError] | None = None


class ListOf(Out, Generic[Item]):
    """Everything there is, on one page."""

    results: list[Item]


class PageOf(Out, Generic[Item]):
    """One page; follow paging.next.after for more."""

    results: list[Item]
    paging: Paging | None = None


class IdIn(In):
    """A record, by its id."""

    id: RecordId = Field(description="The record's id, or its value of the idProperty.", examples=["51204"])


def many(model: type[In], most: int = 100) -> Any:
    """A list of inputs, neither empty nor too long."""
    return Annotated[list[model], Field(min_length=1, max_length=most)]  # type: ignore[valid-type]  # built per model
