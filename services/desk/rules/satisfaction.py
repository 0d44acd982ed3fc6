"""Ratings: what a customer thought of the answer. Nobody but the customer gives one."""

from services.desk.errors import RecordInvalid
from services.desk.operations import listing, records, tickets
from services.desk.operations.aftermath import settled
from services.desk.operations.changing import API, change_ticket
from services.desk.operations.listing import Order, Page, Paging, Where, equal
from services.desk.operations.records import Body
from services.desk.tables import satisfaction_ratings
from services.kernel.statements import Row
from services.kernel.world import World

_COMMENTED = "ifnull(body ->> '$.comment', '') <> ''"
_RECEIVED = "score IN ('good', 'bad')"
SCORES: dict[str, str] = {
    "good": "score = 'good'",
    "bad": "score = 'bad'",
    "offered": "score = 'offered'",
    "unoffered": "score = 'unoffered'",
    "received": _RECEIVED,
    "received_with_comment": f"{_RECEIVED} AND {_COMMENTED}",
    "received_without_comment": f"{_RECEIVED} AND NOT {_COMMENTED}",
    "good_with_comment": f"score = 'good' AND {_COMMENTED}",
    "good_without_comment": f"score = 'good' AND NOT {_COMMENTED}",
    "bad_with_comment": f"score = 'bad' AND {_COMMENTED}",
    "bad_without_comment": f"score = 'bad' AND NOT {_COMMENTED}",
}


def rate(world: World, ticket_id: int, score: str, comment: str | None, user: Row) -> Row:
    """A second rating replaces the first."""
    ticket = tickets.read(world, ticket_id)
    body = ticket["body"]
    if body["requester_id"] != user["id"]:
        raise RecordInvalid("base", "Satisfaction rating: only the requester can rate a ticket")
    if body["status"] != "solved":
        raise RecordInvalid("base", "Satisfaction rating: only a solved ticket can be rated")
    rating = _kept(world, ticket, score, comment)
    told: Body = {"id": rating["id"], "score": score} | ({"comment": comment} if comment else {})
    change = change_ticket(world, ticket, {"satisfaction_rating": told}, user["id"], API, event="ticket.rated")
    if change is not None:
        settled(world, change)
    return rating


def _kept(world: World, ticket: Row, score: str, comment: str | None) -> Row:
    body = ticket["body"]
    rating = {
        "ticket_id": ticket["id"],
        "requester_id": body["requester_id"],
        "assignee_id": body["assignee_id"],
        "group_id": body["group_id"],
        "score": score,
        "comment": comment,
        "reason": None,
        "reason_id": None,
    }
    before = listing.every(world, satisfaction_ratings, equal(ticket_id=ticket["id"]))
    if before:
        return records.change(world, satisfaction_ratings, before[-1], rating)
    return records.add(world, satisfaction_ratings, rating)


def page(world: World, paging: Paging, where: Where, order: Order) -> Page:
    return listing.page(world, satisfaction_ratings, paging, where, order)


def count(world: World, where: Where) -> int:
    return listing.count(world, satisfaction_ratings, where)


def filtered(score: str | None, start_time: int | None, end_time: int | None) -> Where:
    where = listing.EVERYTHING if score is None else Where(SCORES[score])
    if start_time is not None:
        where = where & listing.compared("created_at", ">=", start_time * 1000)
    if end_time is not None:
        where = where & listing.compared("created_at", "<", end_time * 1000)
    return where
