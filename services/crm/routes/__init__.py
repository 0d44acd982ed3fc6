"""The HTTP edge, by noun: parse, do, answer."""

from services.crm.routes import records
from services.kernel.app import product_router

router = product_router()
router.include_router(records.router)
