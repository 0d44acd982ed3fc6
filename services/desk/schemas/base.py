"""What all requests and answers share."""

from collections.abc import Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model

from services.desk.rows import (
    ArticleId,
    AttachmentId,
    AuditId,
    EventId,
    MacroId,
    SuspendedTicketId,
    TicketId,
    UserId,
    ViewId,
)


def _refuse_bool(value: Any) -> Any:
    """To Python a bool is a number."""
    if isinstance(value, bool):
        raise ValueError("is a truth value, not a number")  # noqa: TRY004 - what pydantic takes for a refusal
    return value


_RANGE = Field(ge=1, le=9_007_199_254_740_991)
_NO_BOOL = BeforeValidator(_refuse_bool)
Id = Annotated[int, _RANGE, _NO_BOOL]
# Ids in paths, which operations take as they are.
TicketKey = Annotated[TicketId, _RANGE, _NO_BOOL]
EventKey = Annotated[EventId, _RANGE, _NO_BOOL]
AuditKey = Annotated[AuditId, _RANGE, _NO_BOOL]
AttachmentKey = Annotated[AttachmentId, _RANGE, _NO_BOOL]
SuspendedTicketKey = Annotated[SuspendedTicketId, _RANGE, _NO_BOOL]
UserKey = Annotated[UserId, _RANGE, _NO_BOOL]
ViewKey = Annotated[ViewId, _RANGE, _NO_BOOL]
MacroKey = Annotated[MacroId, _RANGE, _NO_BOOL]
ArticleKey = Annotated[ArticleId, _RANGE, _NO_BOOL]
Short = Annotated[str, StringConstraints(max_length=255)]
Long = Annotated[str, StringConstraints(max_length=65_535)]
Cursor = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Tags = Annotated[list[Annotated[str, StringConstraints(max_length=255)]], Field(max_length=500)]
Timestamp = Annotated[str, StringConstraints(max_length=40)]
# Seconds since 1970.
Epoch = Annotated[int, Field(ge=0, le=4_102_444_800)]


Model = TypeVar("Model", bound=BaseModel)


class RequestBody(BaseModel):
    """A body; names that the desk does not know are ignored, as the vendor ignores them."""

    model_config = ConfigDict(extra="ignore")

    def dump(self) -> dict[str, Any]:
        """Returns only the fields that were sent."""
        return self.model_dump(exclude_unset=True, by_alias=True)


class Included(BaseModel):
    """What to send along with an object."""

    include: Annotated[
        str | None,
        Field(max_length=200, description="Related records to send along, such as users,groups,organizations"),
    ] = None


class Paged(Included):
    """Which part of a list, by cursor (`page[size]`, `page[after]`) or by number (`page`, `per_page`)."""

    page: Annotated[int | None, Field(ge=1, le=10_000, description="Number of the page, from 1")] = None
    per_page: Annotated[int | None, Field(ge=1, le=100, description="Records on a numbered page")] = None
    page_size: Annotated[
        int | None, Field(alias="page[size]", ge=1, le=100, description="Records on a page with cursors")
    ] = None
    page_after: Annotated[
        Cursor | None,
        Field(alias="page[after]", description="The page after this cursor; take it from meta.after_cursor"),
    ] = None
    page_before: Annotated[Cursor | None, Field(alias="page[before]", description="The page before this cursor")] = None
    sort: Annotated[
        str | None, Field(max_length=40, description="With cursors: a field to sort by, with - in front for descending")
    ] = None
    sort_by: Annotated[str | None, Field(max_length=40, description="With numbered pages: the field to sort by")] = None
    sort_order: Annotated[Literal["asc", "desc"] | None, Field(description="With numbered pages")] = None


class ResponseBody(BaseModel):
    """A body of ours; the vendor adds fields now and then, and so may we."""

    model_config = ConfigDict(extra="allow")


class Titled(ResponseBody):
    """An error with a headline."""

    title: str
    message: str


class ErrorOut(ResponseBody):
    """What went wrong: a name, and by field where there are several."""

    error: str | Titled
    description: str | None = None
    details: dict[str, Any] | None = None


class Meta(ResponseBody):
    """Where a page with cursors stands."""

    has_more: bool
    after_cursor: str | None
    before_cursor: str | None


class Links(ResponseBody):
    """The pages around, as whole addresses."""

    next: str | None
    prev: str | None


class PageOut(ResponseBody):
    """Around a list: `meta` and `links` with cursors; `count`, `next_page` and `previous_page` with numbers."""

    meta: Meta | None = None
    links: Links | None = None
    count: int | None = None
    next_page: str | None = None
    previous_page: str | None = None


def record(name: str, description: str, body: type[Any], fields: str, **others: Any) -> type[ResponseBody]:
    """Makes the model of a record: its id, its address, the named fields of its body and its times.

    The types follow from the type of the body; `others` are fields that an answer adds, or shows differently.
    """
    hints = get_type_hints(body)
    described = {field: others[field] if field in others else _wire_type(hints[field]) for field in fields.split()}
    definitions = {"id": int, "url": str, **described, "created_at": str, "updated_at": str}
    return _make_model(name, description, ResponseBody, definitions)


def _wire_type(hint: Any) -> Any:
    """Returns how a field of a body is described: an id is a number, a structure is an object."""
    if isinstance(hint, NewType):
        return hint.__supertype__
    if is_typeddict(hint):
        return dict[str, Any]
    if get_origin(hint) is list:
        return list[_wire_type(get_args(hint)[0])]  # type: ignore[misc]  # made at import
    if get_origin(hint) in (UnionType, Union):
        return Union[tuple(_wire_type(part) for part in get_args(hint))]  # noqa: UP007 - of as many parts as there are
    return hint


def envelope(name: str, description: str, **fields: Any) -> type[ResponseBody]:
    """Makes the model of an answer that has records under these names and nothing else."""
    return _make_model(name, description, ResponseBody, fields)


def extend(base: type[Model], name: str, description: str, **items: Any) -> type[Model]:
    """Makes the model of an answer that has lists of these types beside the fields of `base`."""
    lists: dict[str, Any] = {field: list[item] for field, item in items.items()}  # type: ignore[valid-type]  # made at import
    return _make_model(name, description, base, lists)


def page_of(name: str, description: str, **items: Any) -> type[PageOut]:
    """Makes the model of an answer with a page of records of these types."""
    return extend(PageOut, name, description, **items)


def _make_model(name: str, description: str, base: type[Model], fields: Mapping[str, Any]) -> type[Model]:
    definitions: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    return create_model(name, __base__=base, __doc__=description, **definitions)
