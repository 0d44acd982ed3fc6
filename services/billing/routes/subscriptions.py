"""Subscriptions, their items and schedules."""

from typing import Annotated

from fastapi import Query, Response

from services.billing.operations import endings, items, records, schedules, subscriptions
from services.billing.operations.listing import Where
from services.billing.routes.base import EVERYTHING, Plain, found, gone, many, noun_router, one
from services.billing.schemas import shown
from services.billing.schemas.base import Searched
from services.billing.schemas.shown import Deleted, Found, Page
from services.billing.schemas.subscriptions import (
    CancelNow,
    PauseIn,
    ResumeIn,
    ScheduleCancel,
    ScheduleChange,
    ScheduleIn,
    ScheduleList,
    ScheduleRelease,
    SubscriptionChange,
    SubscriptionIn,
    SubscriptionItemChange,
    SubscriptionItemDrop,
    SubscriptionItemIn,
    SubscriptionItemList,
    SubscriptionList,
)
from services.billing.tables import schedules as schedule_rows
from services.billing.tables import subscription_items
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.app import CurrentWorld

router = noun_router("subscriptions")
_ONE = "/subscriptions/{subscription}"
_ENDED = ("canceled", "incomplete_expired")


@router.post("/subscriptions", operation_id="billing.subscriptions.create", response_model=shown.Subscription)
async def create(body: SubscriptionIn, world: CurrentWorld) -> Response:
    """Subscribe a customer; the first period is billed at once unless there is a trial."""
    return one(world, subscriptions.create(world, body.given()), body)


@router.get("/subscriptions", operation_id="billing.subscriptions.list", response_model=Page[shown.Subscription])
async def page(asked: Annotated[SubscriptionList, Query()], world: CurrentWorld) -> Response:
    """List subscriptions, newest first; ended ones only with `status`."""
    filters = ("customer", "collection_method")
    return many(world, subscription_rows, asked, "/v1/subscriptions", _state(asked, world), filters)


def _state(asked: SubscriptionList, world: CurrentWorld) -> Where:
    among = {}
    if asked.price is not None:
        among = {"id": subscriptions.having(world, asked.price)}
    match asked.status:
        case "all":
            return Where(among=among)
        case "ended":
            return Where(among={**among, "status": _ENDED})
        case None:
            return Where(among=among, not_among={"status": _ENDED})
    return Where(equal={"status": asked.status}, among=among)


@router.get(
    "/subscriptions/search", operation_id="billing.subscriptions.search", response_model=Found[shown.Subscription]
)
async def search(asked: Annotated[Searched, Query()], world: CurrentWorld) -> Response:
    """Search subscriptions by status, canceled_at, created or metadata."""
    return found(world, subscription_rows, asked, "/v1/subscriptions/search")


@router.get(_ONE, operation_id="billing.subscriptions.get", response_model=shown.Subscription)
async def read(subscription: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one subscription with its items."""
    return one(world, records.need(world, subscription_rows, subscription), asked)


@router.post(_ONE, operation_id="billing.subscriptions.update", response_model=shown.Subscription)
async def update(subscription: str, world: CurrentWorld, body: SubscriptionChange | None = None) -> Response:
    """Change a subscription: items, proration, discounts, pause, cancellation at period end."""
    return one(world, subscriptions.update(world, subscription, body.given() if body else {}), body)


@router.delete(_ONE, operation_id="billing.subscriptions.cancel", response_model=shown.Subscription)
async def cancel(subscription: str, asked: Annotated[CancelNow, Query()], world: CurrentWorld) -> Response:
    """Cancel at once; nothing is refunded by itself."""
    return one(world, endings.cancel(world, subscription, asked.given()), asked)


@router.post(_ONE + "/resume", operation_id="billing.subscriptions.resume", response_model=shown.Subscription)
async def resume(subscription: str, world: CurrentWorld, body: ResumeIn | None = None) -> Response:
    """Resume a paused subscription."""
    return one(world, endings.resume(world, subscription, body.given() if body else {}), body)


@router.post(_ONE + "/pause", operation_id="billing.subscriptions.pause", response_model=shown.Subscription)
async def pause(subscription: str, world: CurrentWorld, body: PauseIn | None = None) -> Response:
    """Pause a subscription altogether; to pause only its collection, update `pause_collection`."""
    return one(world, endings.pause(world, subscription, body.given() if body else {}), body)


@router.delete(_ONE + "/discount", operation_id="billing.subscriptions.delete_discount", response_model=shown.Discount)
async def delete_discount(subscription: str, world: CurrentWorld) -> Response:
    """Take the latest discount off a subscription."""
    return gone(records.public(endings.delete_discount(world, subscription)))


@router.post(
    "/subscription_items", operation_id="billing.subscription_items.create", response_model=shown.SubscriptionItem
)
async def create_item(body: SubscriptionItemIn, world: CurrentWorld) -> Response:
    """Add an item to a subscription."""
    return one(world, items.create(world, body.given()), body)


@router.get(
    "/subscription_items", operation_id="billing.subscription_items.list", response_model=Page[shown.SubscriptionItem]
)
async def list_items(asked: Annotated[SubscriptionItemList, Query()], world: CurrentWorld) -> Response:
    """List the items of a subscription."""
    records.refer(world, subscription_rows, asked.subscription, "subscription")
    url = f"/v1/subscription_items?subscription={asked.subscription}"
    return many(world, subscription_items, asked, url, EVERYTHING, ("subscription",))


@router.get(
    "/subscription_items/{item}", operation_id="billing.subscription_items.get", response_model=shown.SubscriptionItem
)
async def read_item(item: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one item."""
    return one(world, records.need(world, subscription_items, item), asked)


@router.post(
    "/subscription_items/{item}",
    operation_id="billing.subscription_items.update",
    response_model=shown.SubscriptionItem,
)
async def update_item(item: str, world: CurrentWorld, body: SubscriptionItemChange | None = None) -> Response:
    """Change price or quantity of an item, with proration."""
    return one(world, items.update(world, item, body.given() if body else {}), body)


@router.delete("/subscription_items/{item}", operation_id="billing.subscription_items.delete", response_model=Deleted)
async def delete_item(item: str, asked: Annotated[SubscriptionItemDrop, Query()], world: CurrentWorld) -> Response:
    """Remove an item from its subscription."""
    return gone(items.delete(world, item, asked.given()))


@router.post(
    "/subscription_schedules", operation_id="billing.subscription_schedules.create", response_model=shown.Schedule
)
async def create_schedule(body: ScheduleIn, world: CurrentWorld) -> Response:
    """Put a subscription under a schedule."""
    return one(world, schedules.create(world, body.given()), body)


@router.get(
    "/subscription_schedules", operation_id="billing.subscription_schedules.list", response_model=Page[shown.Schedule]
)
async def list_schedules(asked: Annotated[ScheduleList, Query()], world: CurrentWorld) -> Response:
    """List schedules, newest first."""
    return many(world, schedule_rows, asked, "/v1/subscription_schedules", EVERYTHING, ("customer",))


@router.get(
    "/subscription_schedules/{schedule}",
    operation_id="billing.subscription_schedules.get",
    response_model=shown.Schedule,
)
async def read_schedule(schedule: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one schedule."""
    return one(world, records.need(world, schedule_rows, schedule), asked)


@router.post(
    "/subscription_schedules/{schedule}",
    operation_id="billing.subscription_schedules.update",
    response_model=shown.Schedule,
)
async def update_schedule(schedule: str, world: CurrentWorld, body: ScheduleChange | None = None) -> Response:
    """Change the phases of a schedule, or what happens at its end."""
    return one(world, schedules.update(world, schedule, body.given() if body else {}), body)


@router.post(
    "/subscription_schedules/{schedule}/cancel",
    operation_id="billing.subscription_schedules.cancel",
    response_model=shown.Schedule,
)
async def cancel_schedule(schedule: str, world: CurrentWorld, body: ScheduleCancel | None = None) -> Response:
    """Cancel a schedule together with its subscription."""
    return one(world, schedules.cancel(world, schedule, body.given() if body else {}), body)


@router.post(
    "/subscription_schedules/{schedule}/release",
    operation_id="billing.subscription_schedules.release",
    response_model=shown.Schedule,
)
async def release_schedule(schedule: str, world: CurrentWorld, body: ScheduleRelease | None = None) -> Response:
    """Let a subscription go on without its schedule."""
    return one(world, schedules.release(world, schedule), body)
