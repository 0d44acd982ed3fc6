"""What all requests and answers share."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints


def _no_truth(value: Any) -> Any:
    """To Python true is a number."""
    if isinstance(value, bool):
        raise ValueError("is a truth value, not a number")  # noqa: TRY004 - what pydantic takes for a refusal
    return value


Id = Annotated[int, Field(ge=1, le=9_007_199_254_740_991), BeforeValidator(_no_truth)]
Short = Annotated[str, StringConstraints(max_length=255)]
Long = Annotated[str, StringConstraints(max_length=65_535)]
Cursor = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Tags = Annotated[list[Annotated[str, StringConstraints(max_length=255)]], Field(max_length=500)]
Moment = Annotated[str, StringConstraints(max_length=40)]
# Seconds since 1970.
Epoch = Annotated[int, Field(ge=0, le=4_102_444_800)]


class Given(BaseModel):
    """A body; names that the desk does not know are ignored, as the vendor ignores them."""

    model_config = ConfigDict(extra="ignore")

    def given(self) -> dict[str, Any]:
        """Only what was sent."""
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


class Answered(BaseModel):
    """A body of ours; the vendor adds fields now and then, and so may we."""

    model_config = ConfigDict(extra="allow")


class Titled(Answered):
    """An error with a headline."""

    title: str
    message: str


class ErrorOut(Answered):
    """What went wrong: a name, and by field where there are several."""

    error: str | Titled
    description: str | None = None
    details: dict[str, Any] | None = None


class Meta(Answered):
    """Where a page with cursors stands."""

    has_more: bool
    after_cursor: str | None
    before_cursor: str | None


class Links(Answered):
    """The pages around, as whole addresses."""

    next: str | None
    prev: str | None


class PageOut(Answered):
    """Around a list: `meta` and `links` with cursors; `count`, `next_page` and `previous_page` with numbers."""

    meta: Meta | None = None
    links: Links | None = None
    count: int | None = None
    next_page: str | None = None
    previous_page: str | None = None
