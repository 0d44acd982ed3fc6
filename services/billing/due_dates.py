"""When something happens to a thing by itself; None while nothing is due."""

from typing import Any

Body = dict[str, Any]

HOUR = 3600
DAY = 24 * HOUR
INCOMPLETE_EXPIRES_AFTER = 23 * HOUR
TRIAL_NOTICE = 3 * DAY
ENDED = frozenset({"canceled", "incomplete_expired"})
LIVE = frozenset({"trialing", "active", "past_due", "unpaid"})


def of_subscription(body: Body) -> int | None:
    if body["status"] == "incomplete":
        return int(body["created"]) + INCOMPLETE_EXPIRES_AFTER
    if body["status"] not in LIVE:
        return None
    pause = body["pause_collection"] or {}
    noticed = body["trial_end"] - TRIAL_NOTICE if body["status"] == "trialing" and not body["_trial_notice"] else None
    return _first(body["_period_end"], body["cancel_at"], pause.get("resumes_at"), noticed)


def of_invoice(body: Body) -> int | None:
    if body["status"] == "draft":
        return body["automatically_finalizes_at"] if body["auto_advance"] else None
    if body["status"] != "open":
        return None
    overdue = body["due_date"] if not body["_overdue"] else None
    return _first(body["next_payment_attempt"], overdue)


def of_refund(body: Body) -> int | None:
    return body["_settles_at"] if body["status"] == "pending" else None


def of_dispute(body: Body) -> int | None:
    if body["status"] == "needs_response":
        return _first(body["evidence_details"]["due_by"])
    return body["_decided_at"] if body["status"] == "under_review" else None


def of_discount(body: Body) -> int | None:
    return None if body.get("_ended") else _first(body["end"])


def of_schedule(body: Body) -> int | None:
    if body["status"] == "not_started":
        return _first(body["phases"][0]["start_date"])
    return _first((body["current_phase"] or {}).get("end_date")) if body["status"] == "active" else None


def _first(*moments: int | None) -> int | None:
    known = [moment for moment in moments if moment is not None]
    return min(known) if known else None
