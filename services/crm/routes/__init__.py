"""The HTTP edge, by noun: parse, do, answer."""

from services.crm.routes import associations, definitions, imports, lists, pipelines, records
from services.kernel.app import product_router

router = product_router()
for _noun in (records, associations, definitions, pipelines, lists, imports):
    router.include_router(_noun.router)
