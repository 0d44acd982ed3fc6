"""The HTTP edge, by noun."""

from services.desk.routes import tickets
from services.kernel.app import product_router

router = product_router()
for _noun in (tickets,):
    router.include_router(_noun.router)
