"""The toolbox: git in the workspace."""

from dataclasses import asdict

from fastapi import Response

from services.ide.operations import git
from services.ide.routes.dependencies import toolbox_router
from services.ide.schemas.toolbox import (
    AddIn,
    BranchIn,
    CheckoutIn,
    CloneIn,
    CommitIn,
    ConfigIn,
    GitUserIn,
    PushIn,
    RemoteIn,
    RepositoryIn,
    ResetIn,
    RestoreIn,
)
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = toolbox_router()


@router.get("/toolbox/{sandboxId}/git/status", operation_id="ide.git.status")
async def status(path: str, world: CurrentWorld) -> Response:
    """Branch, distance to its upstream, and files that changed."""
    tree = await git.status(world, path)
    return Json(
        {
            "currentBranch": tree.branch,
            "ahead": tree.ahead,
            "behind": tree.behind,
            "branchPublished": tree.published,
            "detached": tree.detached,
            "fileStatus": [asdict(file) for file in tree.files],
        }
    )


@router.get("/toolbox/{sandboxId}/git/branches", operation_id="ide.git.branches")
async def branches(path: str, world: CurrentWorld) -> Response:
    """List branches."""
    names, current = await git.list_branches(world, path)
    return Json({"branches": names, "current": current})


@router.post("/toolbox/{sandboxId}/git/branches", status_code=201, operation_id="ide.git.create_branch")
async def create_branch(body: BranchIn, world: CurrentWorld) -> Response:
    """Create a branch where the tree stands."""
    await git.create_branch(world, body.path, body.name)
    return Response(status_code=201)


@router.delete("/toolbox/{sandboxId}/git/branches", status_code=204, operation_id="ide.git.delete_branch")
async def delete_branch(body: BranchIn, world: CurrentWorld) -> Response:
    """Delete a branch."""
    await git.delete_branch(world, body.path, body.name)
    return Response(status_code=204)


@router.post("/toolbox/{sandboxId}/git/checkout", operation_id="ide.git.checkout")
async def checkout(body: CheckoutIn, world: CurrentWorld) -> Response:
    """Go to a branch or commit."""
    await git.checkout(world, body.path, body.branch)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/git/add", operation_id="ide.git.add")
async def add(body: AddIn, world: CurrentWorld) -> Response:
    """Stage files."""
    await git.add(world, body.path, body.files)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/git/commit", operation_id="ide.git.commit")
async def commit(body: CommitIn, world: CurrentWorld) -> Response:
    """Commit what is staged."""
    sha = await git.commit(world, body.path, body.message, body.author, body.email, allow_empty=bool(body.allow_empty))
    return Json({"hash": sha})


@router.post("/toolbox/{sandboxId}/git/push", operation_id="ide.git.push")
async def push(body: PushIn, world: CurrentWorld) -> Response:
    """Push the current branch to the code host."""
    await git.push(
        world, body.path, set_upstream=bool(body.set_upstream), remote=body.remote or "", branch=body.branch or ""
    )
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/git/pull", operation_id="ide.git.pull")
async def pull(body: PushIn, world: CurrentWorld) -> Response:
    """Fetch from the code host and merge."""
    await git.pull(world, body.path, body.remote or "", body.branch or "")
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/git/clone", operation_id="ide.git.clone")
async def clone(body: CloneIn, world: CurrentWorld) -> Response:
    """Clone a repository of the code host."""
    await git.clone(world, body.url, body.path, body.branch, body.commit_id)
    return Response(status_code=200)


@router.get("/toolbox/{sandboxId}/git/history", operation_id="ide.git.history")
async def history(path: str, world: CurrentWorld) -> Response:
    """Commits, the newest first."""
    return Json([asdict(entry) for entry in await git.list_history(world, path)])


@router.post("/toolbox/{sandboxId}/git/init", status_code=201, operation_id="ide.git.init")
async def init(body: RepositoryIn, world: CurrentWorld) -> Response:
    """Make an empty repository."""
    await git.init(world, body.path)
    return Response(status_code=201)


@router.get("/toolbox/{sandboxId}/git/remotes", operation_id="ide.git.remotes")
async def remotes(path: str, world: CurrentWorld) -> Response:
    """List remotes."""
    addresses = await git.list_remotes(world, path)
    return Json({"remotes": [{"name": name, "url": url} for name, url in addresses.items()]})


@router.post("/toolbox/{sandboxId}/git/remotes", status_code=201, operation_id="ide.git.add_remote")
async def add_remote(body: RemoteIn, world: CurrentWorld) -> Response:
    """Add a remote."""
    await git.add_remote(world, body.path, body.name, body.url)
    return Response(status_code=201)


@router.post("/toolbox/{sandboxId}/git/reset", operation_id="ide.git.reset")
async def reset(body: ResetIn, world: CurrentWorld) -> Response:
    """Move the branch back."""
    await git.reset(world, body.path, body.mode or "mixed", body.target)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/git/restore", operation_id="ide.git.restore")
async def restore(body: RestoreIn, world: CurrentWorld) -> Response:
    """Take files back from a commit or the index."""
    await git.restore(world, body.path, body.files, staged=bool(body.staged), source=body.source)
    return Response(status_code=200)


@router.get("/toolbox/{sandboxId}/git/config", operation_id="ide.git.config")
async def config(key: str, world: CurrentWorld, path: str | None = None) -> Response:
    """Read a setting."""
    return Json({"key": key, "value": await git.get_config(world, path, key)})


@router.post("/toolbox/{sandboxId}/git/config", operation_id="ide.git.set_config")
async def set_config(body: ConfigIn, world: CurrentWorld) -> Response:
    """Write a setting."""
    await git.set_config(world, body.path, body.key, body.value, body.scope or "global")
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/git/config/user", operation_id="ide.git.set_user")
async def set_user(body: GitUserIn, world: CurrentWorld) -> Response:
    """Say who commits."""
    for key, value in (("user.name", body.name), ("user.email", body.email)):
        await git.set_config(world, body.path, key, value, body.scope or "global")
    return Response(status_code=200)
