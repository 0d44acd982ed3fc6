"""The HTTP edge, by noun."""

from services.desk.routes import (
    exports,
    help_center,
    jobs,
    organizations,
    requests,
    rules,
    satisfaction,
    search,
    settings,
    suspended,
    threads,
    tickets,
    uploads,
    users,
    views,
)
from services.kernel.app import product_router

router = product_router()
for _router in (
    tickets.router,
    threads.router,
    jobs.router,
    users.router,
    organizations.router,
    exports.router,
    settings.router,
    uploads.router,
    requests.router,
    search.router,
    views.router,
    rules.macros,
    rules.triggers,
    rules.automations,
    rules.service_levels,
    satisfaction.router,
    suspended.router,
    help_center.router,
):
    router.include_router(_router)
