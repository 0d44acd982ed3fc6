"""The declaration of the IDE."""

from collections.abc import Mapping

from services.ide.checks import checks
from services.ide.errors import render
from services.ide.judging import judging
from services.ide.operations.sandboxes import create_first
from services.ide.parameter_texts import PARAMETER_TEXTS
from services.ide.routes import router
from services.ide.sandbox.pool import close_pool, find_missing, open_pool
from services.ide.tables import schema
from services.ide.workspace.workspace import close_workspace, write_rows
from services.kernel.credentials import api_key, basic_password, bearer, token
from services.kernel.product import BenchCall, Product
from services.kernel.sizes import MIB
from services.kernel.world import World

_REPOSITORY_PATHS = "SELECT owner || '/' || name FROM repositories"
_ISSUE_PATHS = (
    "SELECT r.owner || '/' || r.name || '/issues/' || i.number "
    "FROM issues i JOIN repositories r ON r.id = i.repository_id"
)

_MOST_AN_HOUR = 5_000


def headers(world: World) -> Mapping[str, str]:
    """Counts the requests of this hour of the episode's clock: each takes a second."""
    now = world.clock.now_ms() // 1000
    used = min(world.request, now % 3600 + 1)
    return {
        "X-RateLimit-Limit": str(_MOST_AN_HOUR),
        "X-RateLimit-Remaining": str(_MOST_AN_HOUR - used),
        "X-RateLimit-Reset": str(now - now % 3600 + 3600),
        "X-RateLimit-Used": str(used),
        "X-RateLimit-Resource": "core",
    }


# What people who work with it use every day; README.md lists it.
_CORE_OPERATIONS = (
    "ide.checks.list",
    "ide.commits.list",
    "ide.contents.get",
    "ide.files.delete",
    "ide.files.download",
    "ide.files.glob",
    "ide.files.grep",
    "ide.files.list",
    "ide.files.replace",
    "ide.git.add",
    "ide.git.branches",
    "ide.git.checkout",
    "ide.git.commit",
    "ide.git.create_branch",
    "ide.git.pull",
    "ide.git.push",
    "ide.git.status",
    "ide.issues.comment",
    "ide.issues.comments",
    "ide.issues.create",
    "ide.issues.get",
    "ide.issues.list",
    "ide.process.execute",
    "ide.pulls.create",
    "ide.pulls.files",
    "ide.pulls.get",
    "ide.pulls.list",
    "ide.pulls.merge",
    "ide.pulls.review",
    "ide.repos.list",
    "ide.runtime.execute",
    "ide.runtime.read_file",
    "ide.runtime.write_file",
    "ide.sandboxes.create",
    "ide.sandboxes.list",
    "ide.search.code",
)
# What these operations take beside it; a model finds it when it looks an operation up.
_RARE_PARAMETERS = frozenset(
    (
        "allow_empty",
        "commit_id",
        "commit_message",
        "commit_title",
        "cursor",
        "encoding",
        "env",
        "errors",
        "set_upstream",
    )
)

product = Product(
    name="ide",
    title="IDE API",
    version="1.0",
    port=8704,
    public_url="https://code.tallyport.io",
    schema=schema,
    router=router,
    render=render,
    checks=checks,
    core_operations=_CORE_OPERATIONS,
    rare_parameters=_RARE_PARAMETERS,
    parameter_texts=PARAMETER_TEXTS,
    judging=judging,
    create_credential=lambda secret: f"dtn_{secret}",
    key_shapes=("ghp_{}", "dtn_{}"),
    credential_formats=(bearer, token, basic_password, api_key),
    # A push is one body.
    body_limit=16 * MIB,
    # Terminals, and logs that are followed.
    has_sockets=True,
    headers=headers,
    key_headers=(b"x-request-id",),
    on_start=open_pool,
    missing_requirement=find_missing,
    on_stop=close_pool,
    on_open=create_first,
    settle=write_rows,
    on_close=close_workspace,
    sdk="PyGithub",
    snippet="curl -s -H 'Authorization: Bearer {token}' {base}/execute -H 'Content-Type: application/json' "
    """-d '{{"command": "ls", "shell": true}}'\n"""
    "curl -s -H 'Authorization: token {token}' {base}/api/v3/user/repos",
    bench={
        "an issue": BenchCall("GET", "/api/v3/repos/{id}", ids=_ISSUE_PATHS),
        "issues of a repository": BenchCall("GET", "/api/v3/repos/{id}/issues", ids=_REPOSITORY_PATHS),
    },
)
