"""The HTTP edge, by noun."""

from services.desk.routes import (
    automations,
    exports,
    help_center,
    jobs,
    macros,
    organizations,
    requests,
    satisfaction,
    search,
    service_levels,
    settings,
    suspended,
    threads,
    tickets,
    triggers,
    uploads,
    users,
    views,
)
from services.kernel.app import product_router

router = product_router()
for _noun in (
    tickets,
    threads,
    jobs,
    users,
    organizations,
    exports,
    settings,
    uploads,
    requests,
    search,
    views,
    macros,
    triggers,
    automations,
    service_levels,
    satisfaction,
    suspended,
    help_center,
):
    router.include_router(_noun.router)
