"""Satisfaction ratings."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import Sort
from services.desk.operations.satisfaction_ratings import filter_ratings, rate
from services.desk.routes import endpoints as serve
from services.desk.routes.base import AnyCall, StaffCall, answer_count, noun_router
from services.desk.routes.endpoints import add_operations, resource
from services.desk.schemas import satisfaction as schemas
from services.desk.schemas.base import TicketKey
from services.desk.tables import satisfaction_ratings
from services.kernel.documents import Where
from services.kernel.operations import Operation
from services.kernel.world import World

router = noun_router("satisfaction ratings")
_RATINGS = resource(satisfaction_ratings)
_SORT_COLUMNS = {"created_at": "created_at", "updated_at": "updated_at", "score": "score"}


def _filter(_: World, params: schemas.RatingList) -> Where:
    return filter_ratings(params.score, params.start_time, params.end_time)


async def count(params: Annotated[schemas.RatingList, Query()], call: StaffCall) -> Response:
    """Count ratings by score and time."""
    return answer_count(call.world, satisfaction_ratings.count_rows(call.world, _filter(call.world, params)))


async def create(ticket_id: TicketKey, body: schemas.RatingBody, call: AnyCall) -> Response:
    """Rate a solved ticket as its requester; agents cannot rate."""
    rating = body.satisfaction_rating
    row = rate(call.world, ticket_id, rating.score, rating.comment, call.user)
    return _RATINGS.answer(call, row)


# fmt: off
add_operations(router, (
    Operation("desk.satisfaction_ratings.list", "GET", "/api/v2/satisfaction_ratings", "Page", schemas.RatingsOut,
              serve.list_rows(_RATINGS, schemas.RatingList, _filter, _SORT_COLUMNS, Sort("created_at")),
              "List what customers thought of our answers, by score and time."),
    Operation("desk.satisfaction_ratings.count", "GET", "/api/v2/satisfaction_ratings/count", "Count",
              schemas.CountShown, count),
    Operation("desk.satisfaction_ratings.show", "GET", "/api/v2/satisfaction_ratings/{rating_id}", "Show",
              schemas.RatingShown, serve.show(_RATINGS), "Read one rating and the comment that came with it."),
    Operation("desk.satisfaction_ratings.create", "POST", "/api/v2/tickets/{ticket_id}/satisfaction_rating", "Create",
              schemas.RatingShown, create),
))
# fmt: on
