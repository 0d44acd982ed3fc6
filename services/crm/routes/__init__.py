"""The HTTP routes, by noun. An endpoint parses the request, calls an operation and returns its result."""

from services.crm.routes import associations, definitions, imports, lists, pipelines, records
from services.kernel.app import product_router

router = product_router()
for _noun in (records, associations, definitions, pipelines, lists, imports):
    router.include_router(_noun.router)
