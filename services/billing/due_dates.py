"""When time changes an object by itself; None while nothing is due."""

from typing import assert_never

from services.billing.objects.catalogue import DiscountBody
from services.billing.objects.invoices import InvoiceBody
from services.billing.objects.payments import DisputeBody, RefundBody
from services.billing.objects.subscriptions import ScheduleBody, SubscriptionBody, SubscriptionStatus

HOUR = 3600
DAY = 24 * HOUR
INCOMPLETE_EXPIRES_AFTER = 23 * HOUR
TRIAL_NOTICE = 3 * DAY
ENDED: frozenset[SubscriptionStatus] = frozenset({"canceled", "incomplete_expired"})
LIVE: frozenset[SubscriptionStatus] = frozenset({"trialing", "active", "past_due", "unpaid"})


def of_subscription(body: SubscriptionBody) -> int | None:
    if body["status"] == "incomplete":
        return body["created"] + INCOMPLETE_EXPIRES_AFTER
    if body["status"] not in LIVE:
        return None
    pause = body["pause_collection"]
    resumes_at = pause["resumes_at"] if pause is not None else None
    notice_at = None
    if body["status"] == "trialing" and not body["_trial_notice"] and body["trial_end"] is not None:
        notice_at = body["trial_end"] - TRIAL_NOTICE
    return _earliest(body["_period_end"], body["cancel_at"], resumes_at, notice_at)


def of_invoice(body: InvoiceBody) -> int | None:
    status = body["status"]
    match status:
        case "draft":
            return body["automatically_finalizes_at"] if body["auto_advance"] else None
        case "open":
            return _earliest(body["next_payment_attempt"], None if body["_overdue"] else body["due_date"])
        case "paid" | "uncollectible" | "void":
            return None
        case _:
            assert_never(status)


def of_refund(body: RefundBody) -> int | None:
    return body["_settles_at"] if body["status"] == "pending" else None


def of_dispute(body: DisputeBody) -> int | None:
    status = body["status"]
    match status:
        case "needs_response":
            return body["evidence_details"]["due_by"]
        case "under_review":
            return body["_decided_at"]
        case "lost" | "won":
            return None
        case _:
            assert_never(status)


def of_discount(body: DiscountBody) -> int | None:
    return None if body.get("_ended") else body["end"]


def of_schedule(body: ScheduleBody) -> int | None:
    status = body["status"]
    match status:
        case "not_started":
            return body["phases"][0]["start_date"]
        case "active":
            return body["current_phase"]["end_date"] if body["current_phase"] is not None else None
        case "canceled" | "completed" | "released":
            return None
        case _:
            assert_never(status)


def _earliest(*moments: int | None) -> int | None:
    return min((moment for moment in moments if moment is not None), default=None)
