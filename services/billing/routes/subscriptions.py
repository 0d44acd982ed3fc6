"""Subscriptions, their items and schedules."""

from services.billing.due_dates import ENDED
from services.billing.operations import cancellation, records, schedules, subscription_items, subscriptions
from services.billing.routes import endpoints as serve
from services.billing.routes.endpoints import register
from services.billing.rows import PriceId, SubscriptionId
from services.billing.schemas import subscriptions as schemas
from services.billing.schemas.responses import (
    Deleted,
    Discount,
    Schedule,
    Subscription,
    SubscriptionItem,
    make_search_page,
    page_of,
)
from services.billing.tables import schedules as schedule_rows
from services.billing.tables import subscription_items as item_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.documents import EVERYTHING, Where, among, equal, not_among
from services.kernel.operations import Operation
from services.kernel.world import World


def _in_status(world: World, query: schemas.SubscriptionList) -> Where:
    where = EVERYTHING
    if query.price is not None:
        where = among("id", subscriptions.subscriptions_with_price(world, PriceId(query.price)))
    match query.status:
        case "all":
            return where
        case "ended":
            return where & among("status", sorted(ENDED))
        case None:
            return where & not_among("status", sorted(ENDED))
    return where & equal(status=query.status)


def _of_subscription(world: World, query: schemas.SubscriptionItemList) -> Where:
    records.refer(world, subscription_rows, SubscriptionId(query.subscription), "subscription")
    return equal(subscription=query.subscription)


# fmt: off
_OPERATIONS = (
    Operation("billing.subscriptions.create", "POST", "/v1/subscriptions", "Create", Subscription,
              serve.post(schemas.SubscriptionIn, subscriptions.create),
              "Subscribe a customer; the first period is billed at once unless there is a trial."),
    Operation("billing.subscriptions.list", "GET", "/v1/subscriptions", "Page", page_of(Subscription),
              serve.list_rows(schemas.SubscriptionList, subscription_rows, ("customer", "collection_method"),
                              _in_status),
              "List subscriptions, newest first; ended ones only with `status`."),
    Operation("billing.subscriptions.search", "GET", "/v1/subscriptions/search", "Search",
              make_search_page(Subscription), serve.search(subscription_rows),
              "Search subscriptions by status, canceled_at, created or metadata."),
    Operation("billing.subscriptions.get", "GET", "/v1/subscriptions/{subscription}", "Read", Subscription,
              serve.read_row(subscription_rows), "Read one subscription with its items."),
    Operation("billing.subscriptions.update", "POST", "/v1/subscriptions/{subscription}", "Update", Subscription,
              serve.post_optional(schemas.SubscriptionChange, subscriptions.update),
              "Change a subscription: items, proration, discounts, pause, cancellation at period end."),
    Operation("billing.subscriptions.cancel", "DELETE", "/v1/subscriptions/{subscription}", "Cancel", Subscription,
              serve.with_query(schemas.CancelNow, cancellation.cancel),
              "Cancel at once; nothing is refunded by itself."),
    Operation("billing.subscriptions.resume", "POST", "/v1/subscriptions/{subscription}/resume", "Resume", Subscription,
              serve.post_optional(schemas.ResumeIn, cancellation.resume), "Resume a paused subscription."),
    Operation("billing.subscriptions.pause", "POST", "/v1/subscriptions/{subscription}/pause", "Pause", Subscription,
              serve.post_optional(schemas.PauseIn, cancellation.pause),
              "Pause a subscription altogether; to pause only its collection, update `pause_collection`."),
    Operation("billing.subscriptions.delete_discount", "DELETE", "/v1/subscriptions/{subscription}/discount",
              "Delete Discount", Discount, serve.delete(cancellation.delete_discount),
              "Take the latest discount off a subscription."),
    Operation("billing.subscription_items.create", "POST", "/v1/subscription_items", "Create Item", SubscriptionItem,
              serve.post(schemas.SubscriptionItemIn, subscription_items.create), "Add an item to a subscription."),
    Operation("billing.subscription_items.list", "GET", "/v1/subscription_items", "List Items",
              page_of(SubscriptionItem),
              serve.list_rows(schemas.SubscriptionItemList, item_rows, where=_of_subscription,
                              url_parameter="subscription"),
              "List the items of a subscription."),
    Operation("billing.subscription_items.get", "GET", "/v1/subscription_items/{item}", "Read Item", SubscriptionItem,
              serve.read_row(item_rows), "Read one item."),
    Operation("billing.subscription_items.update", "POST", "/v1/subscription_items/{item}", "Update Item",
              SubscriptionItem, serve.post_optional(schemas.SubscriptionItemChange, subscription_items.update),
              "Change price or quantity of an item, with proration."),
    Operation("billing.subscription_items.delete", "DELETE", "/v1/subscription_items/{item}", "Delete Item", Deleted,
              serve.with_query_as_is(schemas.SubscriptionItemDrop, subscription_items.delete),
              "Remove an item from its subscription."),
    Operation("billing.subscription_schedules.create", "POST", "/v1/subscription_schedules", "Create Schedule",
              Schedule, serve.post(schemas.ScheduleIn, schedules.create), "Put a subscription under a schedule."),
    Operation("billing.subscription_schedules.list", "GET", "/v1/subscription_schedules", "List Schedules",
              page_of(Schedule), serve.list_rows(schemas.ScheduleList, schedule_rows, ("customer",)),
              "List schedules, newest first."),
    Operation("billing.subscription_schedules.get", "GET", "/v1/subscription_schedules/{schedule}", "Read Schedule",
              Schedule, serve.read_row(schedule_rows), "Read one schedule."),
    Operation("billing.subscription_schedules.update", "POST", "/v1/subscription_schedules/{schedule}",
              "Update Schedule", Schedule, serve.post_optional(schemas.ScheduleChange, schedules.update),
              "Change the phases of a schedule, or what happens at its end."),
    Operation("billing.subscription_schedules.cancel", "POST", "/v1/subscription_schedules/{schedule}/cancel",
              "Cancel Schedule", Schedule, serve.post_optional(schemas.ScheduleCancel, schedules.cancel),
              "Cancel a schedule together with its subscription."),
    Operation("billing.subscription_schedules.release", "POST", "/v1/subscription_schedules/{schedule}/release",
              "Release Schedule", Schedule, serve.act(schedules.release, schemas.ScheduleRelease),
              "Let a subscription go on without its schedule."),
)
# fmt: on

router = register("subscriptions", _OPERATIONS)
