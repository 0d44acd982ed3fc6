"""The IDE, declared."""

from services.ide import workshop, workspace
from services.ide.checks import checks
from services.ide.errors import render
from services.ide.routes import router
from services.ide.tables import schema
from services.kernel.credentials import api_key, basic_password, bearer, token
from services.kernel.product import MIB, BenchCall, Product

_A_REPOSITORY = "SELECT owner || '/' || name FROM repositories"
_AN_ISSUE = (
    "SELECT r.owner || '/' || r.name || '/issues/' || i.number "
    "FROM issues i JOIN repositories r ON r.id = i.repository_id"
)
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
    # A push is one body.
    body_limit=16 * MIB,
    key_headers=(b"x-request-id",),
    started=workshop.start,
    lacks=workshop.lacking,
    stopped=workshop.stop,
    settle=workspace.settle,
    closed=workspace.closed,
    snippet="curl -s -H 'Authorization: Bearer {token}' {base}/execute -H 'Content-Type: application/json' "
    """-d '{{"command": "ls", "shell": true}}'\n"""
    "curl -s -H 'Authorization: token {token}' {base}/api/v3/user/repos",
    bench={
        "an issue": BenchCall("GET", "/api/v3/repos/{id}", ids=_AN_ISSUE),
        "issues of a repository": BenchCall("GET", "/api/v3/repos/{id}/issues", ids=_A_REPOSITORY),
    },
)
