"""Satisfaction ratings."""

from typing import Annotated, Literal

from pydantic import Field

from services.desk.rows import tickets as rows
from services.desk.schemas.base import Epoch, Long, Paged, RequestBody, ResponseBody, envelope, page_of, record

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


class RatingIn(RequestBody):
    """What the requester thought of the answer."""

    score: Annotated[Literal["good", "bad"], Field(description="good or bad")]
    comment: Annotated[Long | None, Field(description="Why, in the requester's words")] = None


class RatingBody(RequestBody):
    """A rating to be given."""

    satisfaction_rating: RatingIn


class RatingList(Paged):
    """Which ratings."""

    score: Annotated[Filter | None, Field(description="Only these, such as bad or bad_with_comment")] = None
    start_time: Annotated[Epoch | None, Field(description="Given at or after this second since 1970")] = None
    end_time: Annotated[Epoch | None, Field(description="Given before this second since 1970")] = None


RatingOut = record(
    "RatingOut", "A rating.", rows.RatingBody, "ticket_id requester_id assignee_id group_id score comment"
)


RatingShown = envelope("RatingShown", "One rating.", satisfaction_rating=RatingOut)
RatingsOut = page_of("RatingsOut", "Ratings, oldest first unless sorted otherwise.", satisfaction_ratings=RatingOut)


class CountOut(ResponseBody):
    """How many, and as of when."""

    value: int
    refreshed_at: str


CountShown = envelope("CountShown", "A count.", count=CountOut)
