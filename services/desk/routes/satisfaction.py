"""Satisfaction ratings."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.operations import records, showing
from services.desk.operations.listing import Order
from services.desk.routes.base import anyone, listed, noun_router, order, paging, staff
from services.desk.rules import satisfaction
from services.desk.schemas import satisfaction as schemas
from services.desk.schemas.base import Id
from services.desk.tables import satisfaction_ratings
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("satisfaction ratings")
_SORTED = {"created_at": "created_at", "updated_at": "updated_at", "score": "score"}


@router.get("/satisfaction_ratings", operation_id="desk.satisfaction_ratings.list", response_model=schemas.RatingsOut)
async def page(asked: Annotated[schemas.RatingList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List what customers thought of our answers, by score and time."""
    call = staff(request, world)
    where = satisfaction.filtered(asked.score, asked.start_time, asked.end_time)
    found = satisfaction.page(world, paging(asked), where, order(asked, _SORTED, Order("created_at")))
    return listed(call, "satisfaction_ratings", found, showing.many("satisfaction_rating", found.rows, call.base))


@router.get(
    "/satisfaction_ratings/count", operation_id="desk.satisfaction_ratings.count", response_model=schemas.CountShown
)
async def count(asked: Annotated[schemas.RatingList, Query()], request: Request, world: CurrentWorld) -> Response:
    """Count ratings by score and time."""
    staff(request, world)
    value = satisfaction.count(world, satisfaction.filtered(asked.score, asked.start_time, asked.end_time))
    return Json({"count": {"value": value, "refreshed_at": showing.iso(world.clock.now_ms())}})


@router.get(
    "/satisfaction_ratings/{rating_id}",
    operation_id="desk.satisfaction_ratings.show",
    response_model=schemas.RatingShown,
)
async def show(rating_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one rating and the comment that came with it."""
    call = staff(request, world)
    row = records.need(world, satisfaction_ratings, rating_id)
    return Json({"satisfaction_rating": showing.shown("satisfaction_rating", row, call.base)})


@router.post(
    "/tickets/{ticket_id}/satisfaction_rating",
    operation_id="desk.satisfaction_ratings.create",
    response_model=schemas.RatingShown,
)
async def create(ticket_id: Id, body: schemas.RatingBody, request: Request, world: CurrentWorld) -> Response:
    """Rate a solved ticket as its requester; agents cannot rate."""
    call = anyone(request, world)
    given = body.satisfaction_rating
    row = satisfaction.rate(world, ticket_id, given.score, given.comment, call.user)
    return Json({"satisfaction_rating": showing.shown("satisfaction_rating", row, call.base)})
