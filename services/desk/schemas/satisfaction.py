"""Satisfaction ratings."""

from typing import Annotated, Literal

from pydantic import Field

from services.desk.schemas.base import Answered, Epoch, Given, Long, Paged, PageOut

Filter = Literal[
    "good",
    "bad",
    "offered",
    "unoffered",
    "received",
    "received_with_comment",
    "received_without_comment",
    "good_with_comment",
    "good_without_comment",
    "bad_with_comment",
    "bad_without_comment",
]


class RatingIn(Given):
    """What the requester thought of the answer."""

    score: Annotated[Literal["good", "bad"], Field(description="good or bad")]
    comment: Annotated[Long | None, Field(description="Why, in the requester's words")] = None


class RatingBody(Given):
    """A rating to be given."""

    satisfaction_rating: RatingIn


class RatingList(Paged):
    """Which ratings."""

    score: Annotated[Filter | None, Field(description="Only these, such as bad or bad_with_comment")] = None
    start_time: Annotated[Epoch | None, Field(description="Given at or after this second since 1970")] = None
    end_time: Annotated[Epoch | None, Field(description="Given before this second since 1970")] = None


class RatingOut(Answered):
    """A rating."""

    id: int
    url: str
    ticket_id: int
    requester_id: int
    assignee_id: int | None
    group_id: int | None
    score: str
    comment: str | None
    created_at: str
    updated_at: str


class RatingShown(Answered):
    """One rating."""

    satisfaction_rating: RatingOut


class RatingsOut(PageOut):
    """Ratings, oldest first unless sorted otherwise."""

    satisfaction_ratings: list[RatingOut]


class CountOut(Answered):
    """How many, and as of when."""

    value: int
    refreshed_at: str


class CountShown(Answered):
    """A count."""

    count: CountOut
