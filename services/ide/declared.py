"""The IDE, declared."""

from services.ide import workshop, workspace
from services.ide.checks import checks
from services.ide.errors import render
from services.ide.routes import router
from services.ide.tables import schema
from services.kernel.credentials import api_key, basic_password, bearer, token
from services.kernel.product import MIB, Product

product = Product(
    name="ide",
    title="IDE API",
    version="1.0",
    port=8704,
    schema=schema,
    router=router,
    render=render,
    checks=checks,
    mint=lambda secret: f"dtn_{secret}",
    forms=(bearer, token, basic_password, api_key),
    body_limit=16 * MIB,
    key_headers=(b"x-request-id",),
    started=workshop.start,
    stopped=workshop.stop,
    settle=workspace.settle,
    closed=workspace.closed,
)
