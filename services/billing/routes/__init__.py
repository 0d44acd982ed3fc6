"""The HTTP edge, by noun."""

from services.billing.routes import catalogue, customers, invoices, payments, subscriptions
from services.kernel.app import product_router

router = product_router()
for _noun in (customers, catalogue, subscriptions, invoices, payments):
    router.include_router(_noun.router)
