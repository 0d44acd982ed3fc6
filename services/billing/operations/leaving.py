"""A customer who leaves takes subscriptions and payment methods along."""

from services.billing.operations import customers, endings, listing, records
from services.billing.operations.records import Body
from services.billing.tables import customers as customer_rows
from services.billing.tables import payment_methods
from services.kernel.world import World


def delete(world: World, key: str) -> Body:
    """Final: subscriptions end, payment methods go; what was paid stays on the books."""
    body = customers.living(world, key)
    endings.end_all(world, key)
    for method in listing.of(world, payment_methods, customer=key):
        gone = {"customer": None, "_detached": True}
        records.change(world, payment_methods, method, gone, "payment_method.detached")
    records.change(world, customer_rows, records.known(world, customer_rows, key), {"deleted": True})
    records.tell(world, "customer.deleted", body)
    return {"id": key, "object": "customer", "deleted": True}
