"""Subscriptions, their items and schedules."""

from services.billing.due_dates import ENDED
from services.billing.operations import cancellation, records, schedules, subscription_items, subscriptions
from services.billing.routes.operations import (
    act,
    delete,
    list_rows,
    post,
    post_optional,
    read_row,
    register,
    search,
    with_query,
    with_query_as_is,
)
from services.billing.rows import PriceId, SubscriptionId
from services.billing.schemas.responses import (
    Deleted,
    Discount,
    Schedule,
    Subscription,
    SubscriptionItem,
    found_of,
    page_of,
)
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
from services.billing.tables import subscription_items as item_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.documents import EVERYTHING, Where, among, equal, not_among
from services.kernel.operations import Operation
from services.kernel.world import World


def _in_status(world: World, query: SubscriptionList) -> Where:
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


def _of_subscription(world: World, query: SubscriptionItemList) -> Where:
    records.refer(world, subscription_rows, SubscriptionId(query.subscription), "subscription")
    return equal(subscription=query.subscription)


# fmt: off
_OPERATIONS = (
    Operation("billing.subscriptions.create", "POST", "/v1/subscriptions", "Create", Subscription,
              post(SubscriptionIn, subscriptions.create),
              "Subscribe a customer; the first period is billed at once unless there is a trial."),
    Operation("billing.subscriptions.list", "GET", "/v1/subscriptions", "Page", page_of(Subscription),
              list_rows(SubscriptionList, subscription_rows, ("customer", "collection_method"), _in_status),
              "List subscriptions, newest first; ended ones only with `status`."),
    Operation("billing.subscriptions.search", "GET", "/v1/subscriptions/search", "Search", found_of(Subscription),
              search(subscription_rows), "Search subscriptions by status, canceled_at, created or metadata."),
    Operation("billing.subscriptions.get", "GET", "/v1/subscriptions/{subscription}", "Read", Subscription,
              read_row(subscription_rows), "Read one subscription with its items."),
    Operation("billing.subscriptions.update", "POST", "/v1/subscriptions/{subscription}", "Update", Subscription,
              post_optional(SubscriptionChange, subscriptions.update),
              "Change a subscription: items, proration, discounts, pause, cancellation at period end."),
    Operation("billing.subscriptions.cancel", "DELETE", "/v1/subscriptions/{subscription}", "Cancel", Subscription,
              with_query(CancelNow, cancellation.cancel), "Cancel at once; nothing is refunded by itself."),
    Operation("billing.subscriptions.resume", "POST", "/v1/subscriptions/{subscription}/resume",
              "Resume", Subscription, post_optional(ResumeIn, cancellation.resume), "Resume a paused subscription."),
    Operation("billing.subscriptions.pause", "POST", "/v1/subscriptions/{subscription}/pause", "Pause", Subscription,
              post_optional(PauseIn, cancellation.pause),
              "Pause a subscription altogether; to pause only its collection, update `pause_collection`."),
    Operation("billing.subscriptions.delete_discount", "DELETE", "/v1/subscriptions/{subscription}/discount",
              "Delete Discount", Discount,
              delete(cancellation.delete_discount), "Take the latest discount off a subscription."),
    Operation("billing.subscription_items.create", "POST", "/v1/subscription_items", "Create Item", SubscriptionItem,
              post(SubscriptionItemIn, subscription_items.create), "Add an item to a subscription."),
    Operation("billing.subscription_items.list", "GET", "/v1/subscription_items", "List Items",
              page_of(SubscriptionItem),
              list_rows(SubscriptionItemList, item_rows, where=_of_subscription, url_parameter="subscription"),
              "List the items of a subscription."),
    Operation("billing.subscription_items.get", "GET", "/v1/subscription_items/{item}", "Read Item", SubscriptionItem,
              read_row(item_rows), "Read one item."),
    Operation("billing.subscription_items.update", "POST", "/v1/subscription_items/{item}",
              "Update Item", SubscriptionItem,
              post_optional(SubscriptionItemChange, subscription_items.update),
              "Change price or quantity of an item, with proration."),
    Operation("billing.subscription_items.delete", "DELETE", "/v1/subscription_items/{item}", "Delete Item", Deleted,
              with_query_as_is(SubscriptionItemDrop, subscription_items.delete),
              "Remove an item from its subscription."),
    Operation("billing.subscription_schedules.create", "POST", "/v1/subscription_schedules",
              "Create Schedule", Schedule, post(ScheduleIn, schedules.create), "Put a subscription under a schedule."),
    Operation("billing.subscription_schedules.list", "GET", "/v1/subscription_schedules",
              "List Schedules", page_of(Schedule),
              list_rows(ScheduleList, schedule_rows, ("customer",)), "List schedules, newest first."),
    Operation("billing.subscription_schedules.get", "GET", "/v1/subscription_schedules/{schedule}",
              "Read Schedule", Schedule, read_row(schedule_rows), "Read one schedule."),
    Operation("billing.subscription_schedules.update", "POST", "/v1/subscription_schedules/{schedule}",
              "Update Schedule", Schedule,
              post_optional(ScheduleChange, schedules.update),
              "Change the phases of a schedule, or what happens at its end."),
    Operation("billing.subscription_schedules.cancel", "POST", "/v1/subscription_schedules/{schedule}/cancel",
              "Cancel Schedule", Schedule,
              post_optional(ScheduleCancel, schedules.cancel), "Cancel a schedule together with its subscription."),
    Operation("billing.subscription_schedules.release", "POST", "/v1/subscription_schedules/{schedule}/release",
              "Release Schedule", Schedule,
              act(schedules.release, ScheduleRelease), "Let a subscription go on without its schedule."),
)
# fmt: on

router = register("subscriptions", _OPERATIONS)
