"""Satisfaction ratings: what a customer thought of the answer. Only the customer gives one."""

from services.desk.errors import RecordInvalid
from services.desk.operations.after_change import run_rules
from services.desk.operations.tickets import get_ticket
from services.desk.records.ticket_changes import API, change_ticket
from services.desk.rows import TicketId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import RatingBody, RatingRow, TicketRating, TicketRow
from services.desk.tables import satisfaction_ratings
from services.kernel.documents import EVERYTHING, Where, compare, equal
from services.kernel.world import World

_COMMENTED = "ifnull(body ->> '$.comment', '') <> ''"
_RECEIVED = "score IN ('good', 'bad')"
# Conditions by the vendor's names of filters.
_SCORES: dict[str, str] = {
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


def rate(world: World, ticket_id: TicketId, score: str, comment: str | None, user: UserRow) -> RatingRow:
    """Rates a solved ticket; a second rating replaces the first."""
    ticket = get_ticket(world, ticket_id)
    body = ticket["body"]
    if body["requester_id"] != user["id"]:
        raise RecordInvalid("base", "Satisfaction rating: only the requester can rate a ticket")
    if body["status"] != "solved":
        raise RecordInvalid("base", "Satisfaction rating: only a solved ticket can be rated")
    rating = _write_rating(world, ticket, score, comment)
    summary: TicketRating = {"id": rating["id"], "score": score}
    if comment:
        summary["comment"] = comment
    change = change_ticket(world, ticket, {"satisfaction_rating": summary}, user["id"], API, event="ticket.rated")
    if change is not None:
        run_rules(world, change)
    return rating


def _write_rating(world: World, ticket: TicketRow, score: str, comment: str | None) -> RatingRow:
    body = ticket["body"]
    rating: RatingBody = {
        "ticket_id": ticket["id"],
        "requester_id": body["requester_id"],
        "assignee_id": body["assignee_id"],
        "group_id": body["group_id"],
        "score": score,
        "comment": comment,
        "reason": None,
        "reason_id": None,
    }
    before = satisfaction_ratings.find(world, equal(ticket_id=ticket["id"]))
    return satisfaction_ratings.change(world, before[-1], rating) if before else satisfaction_ratings.add(world, rating)


def filter_ratings(score: str | None, start_time: int | None, end_time: int | None) -> Where:
    where = EVERYTHING if score is None else Where(_SCORES[score])
    if start_time is not None:
        where = where & compare("created_at", ">=", start_time * 1000)
    if end_time is not None:
        where = where & compare("created_at", "<", end_time * 1000)
    return where
