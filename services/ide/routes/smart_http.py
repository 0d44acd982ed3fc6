"""git over HTTP: a thin bridge to git's own service, in the git server's sandbox."""

from fastapi import Request, Response

from services.ide.errors import Forbidden, NotFound
from services.ide.operations import repositories
from services.kernel.app import CurrentWorld, product_router
from services.kernel.world import World

router = product_router()
_SERVICES = ("git-upload-pack", "git-receive-pack")


@router.get("/{owner}/{repository}/info/refs", operation_id="ide.git_http.refs")
async def info_refs(owner: str, repository: str, request: Request, world: CurrentWorld, service: str = "") -> Response:
    """Which branches there are; the first thing git asks."""
    if service not in _SERVICES:
        raise Forbidden("Please upgrade your git client.")
    return await _call_git(world, request, owner, repository, "info/refs")


@router.post("/{owner}/{repository}/git-upload-pack", operation_id="ide.git_http.upload_pack")
async def upload_pack(owner: str, repository: str, request: Request, world: CurrentWorld) -> Response:
    """Fetch and clone."""
    return await _call_git(world, request, owner, repository, "git-upload-pack")


@router.post("/{owner}/{repository}/git-receive-pack", operation_id="ide.git_http.receive_pack")
async def receive_pack(owner: str, repository: str, request: Request, world: CurrentWorld) -> Response:
    """Push."""
    return await _call_git(world, request, owner, repository, "git-receive-pack")


async def _call_git(world: World, request: Request, owner: str, folder: str, service: str) -> Response:
    """`folder` is the repository's name with `.git`."""
    if not folder.endswith(".git"):
        raise NotFound
    repository = repositories.find(world, owner, folder.removesuffix(".git"))
    body = await request.body()
    environment = {
        "PATH_INFO": f"/{repository['owner']}/{repository['name']}.git/{service}",
        "QUERY_STRING": str(request.url.query),
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_USER": repositories.find_me(world)["login"],
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
    }
    server = await repositories.git_server(world)
    result = await server.serve_http(environment, body, world.clock.now_ms())
    return _parse_cgi(result.stdout)


def _parse_cgi(output: bytes) -> Response:
    """A head with an optional status, an empty line, the body."""
    head, _, body = output.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    return Response(body, status_code=status, headers=headers)
