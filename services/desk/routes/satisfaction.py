"""Satisfaction ratings."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import Sort
from services.desk.operations.satisfaction_ratings import filter_ratings, rate
from services.desk.routes.base import AnyCall, StaffCall, answer_count, answer_rows, noun_router, read_paging, read_sort
from services.desk.schemas import satisfaction as schemas
from services.desk.schemas.base import RatingKey, TicketKey
from services.desk.shapes.base import render
from services.desk.tables import satisfaction_ratings
from services.kernel.answers import Json

router = noun_router("satisfaction ratings")
_SORT_COLUMNS = {"created_at": "created_at", "updated_at": "updated_at", "score": "score"}


@router.get("/satisfaction_ratings", operation_id="desk.satisfaction_ratings.list", response_model=schemas.RatingsOut)
async def page(params: Annotated[schemas.RatingList, Query()], call: StaffCall) -> Response:
    """List what customers thought of our answers, by score and time."""
    where = filter_ratings(params.score, params.start_time, params.end_time)
    result = satisfaction_ratings.page(
        call.world, read_paging(params), where, read_sort(params, _SORT_COLUMNS, Sort("created_at"))
    )
    return answer_rows(call, "satisfaction_rating", "satisfaction_ratings", result)


@router.get(
    "/satisfaction_ratings/count", operation_id="desk.satisfaction_ratings.count", response_model=schemas.CountShown
)
async def count(params: Annotated[schemas.RatingList, Query()], call: StaffCall) -> Response:
    """Count ratings by score and time."""
    where = filter_ratings(params.score, params.start_time, params.end_time)
    return answer_count(call.world, satisfaction_ratings.count_rows(call.world, where))


@router.get(
    "/satisfaction_ratings/{rating_id}",
    operation_id="desk.satisfaction_ratings.show",
    response_model=schemas.RatingShown,
)
async def show(rating_id: RatingKey, call: StaffCall) -> Response:
    """Read one rating and the comment that came with it."""
    row = satisfaction_ratings.need(call.world, rating_id)
    return Json({"satisfaction_rating": render("satisfaction_rating", row, call.base)})


@router.post(
    "/tickets/{ticket_id}/satisfaction_rating",
    operation_id="desk.satisfaction_ratings.create",
    response_model=schemas.RatingShown,
)
async def create(ticket_id: TicketKey, body: schemas.RatingBody, call: AnyCall) -> Response:
    """Rate a solved ticket as its requester; agents cannot rate."""
    rating = body.satisfaction_rating
    row = rate(call.world, ticket_id, rating.score, rating.comment, call.user)
    return Json({"satisfaction_rating": render("satisfaction_rating", row, call.base)})
