"""The HTTP edge, by noun."""

from services.desk.routes import exports, jobs, organizations, requests, settings, threads, tickets, uploads, users
from services.kernel.app import product_router

router = product_router()
for _noun in (tickets, threads, jobs, users, organizations, exports, settings, uploads, requests):
    router.include_router(_noun.router)
