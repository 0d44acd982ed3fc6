"""Deleting a customer, which ends subscriptions and detaches payment methods."""

from services.billing.objects.customers import PaymentMethodBody
from services.billing.operations import cancellation, customers, records
from services.billing.operations.records import DeletedObject
from services.billing.rows import CustomerId
from services.billing.tables import customers as customer_rows
from services.billing.tables import payment_methods
from services.kernel.world import World


def delete_customer(world: World, key: CustomerId) -> DeletedObject:
    """Deletes for good; what was paid stays on the books."""
    body = customers.need_customer(world, key)
    cancellation.end_all(world, key)
    for method in records.find_by(world, payment_methods, customer=key):
        changes: PaymentMethodBody = {"customer": None, "_detached": True}
        records.change(world, payment_methods, method, changes, "payment_method.detached")
    records.change(world, customer_rows, body, {"deleted": True})
    records.record_event(world, "customer.deleted", body)
    return {"id": key, "object": "customer", "deleted": True}
