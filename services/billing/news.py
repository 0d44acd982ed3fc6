"""What billing tells its users about what happened by itself, as the vendor's notifications do."""

from collections.abc import Sequence

from services.billing.tables import events
from services.kernel.changes import Change
from services.kernel.world import World

# By the type of the event: what is told of one object, and of many.
_SENTENCES = {
    "invoice.paid": ("Invoice {} was paid", "{} invoices were paid"),
    "invoice.payment_failed": ("The payment of invoice {} failed", "The payments of {} invoices failed"),
    "invoice.overdue": ("Invoice {} is overdue", "{} invoices are overdue"),
    "invoice.finalized": ("Invoice {} was finalized", "{} invoices were finalized"),
    "customer.subscription.deleted": ("Subscription {} was canceled", "{} subscriptions were canceled"),
    "customer.subscription.trial_will_end": ("The trial of subscription {} ends soon", "{} trials end soon"),
    "charge.dispute.created": ("A customer disputes a payment: {}", "Customers dispute {} payments"),
    "charge.dispute.closed": ("Dispute {} was closed", "{} disputes were closed"),
    "refund.updated": ("Refund {} was updated", "{} refunds were updated"),
}
# More objects than this are told as one number.
_MOST_NAMED = 3


def tell_news(_: World, changes: Sequence[Change]) -> list[str]:
    ids: dict[str, list[str]] = {}
    for change in changes:
        if change.table == events.name and change.before is None and change.after is not None:
            body = change.after["body"]
            if body["type"] in _SENTENCES:
                ids.setdefault(body["type"], []).append(str(body["data"]["object"]["id"]))
    return [
        sentence
        for kind, (one, many) in _SENTENCES.items()
        for sentence in _tell(one, many, list(dict.fromkeys(ids.get(kind, ()))))
    ]


def _tell(singular: str, plural: str, ids: list[str]) -> list[str]:
    return [singular.format(key) for key in ids] if len(ids) <= _MOST_NAMED else [plural.format(len(ids))]
