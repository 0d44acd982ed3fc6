"""The toolbox: git in the workspace."""

from typing import Any

from fastapi import Response

from services.ide.operations import git, machines
from services.ide.routes.processes import BASE
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
from services.kernel.app import CurrentWorld, product_router

router = product_router()
_GIT = BASE + "/git"


@router.get(_GIT + "/status", operation_id="ide.git.status")
async def status(sandboxId: str, path: str, world: CurrentWorld) -> Response:
    """Branch, distance to its upstream, and files that changed."""
    machines.find(world, sandboxId)
    found = await git.status(world, path)
    files = [
        {"name": one.name, "staging": one.staging, "worktree": one.worktree, "extra": one.extra} for one in found.files
    ]
    about: dict[str, Any] = {"currentBranch": found.branch, "ahead": found.ahead, "behind": found.behind}
    return Json({**about, "branchPublished": found.published, "detached": found.detached, "fileStatus": files})


@router.get(_GIT + "/branches", operation_id="ide.git.branches")
async def branches(sandboxId: str, path: str, world: CurrentWorld) -> Response:
    """List branches."""
    machines.find(world, sandboxId)
    listed, current = await git.branches(world, path)
    return Json({"branches": listed, "current": current})


@router.post(_GIT + "/branches", status_code=201, operation_id="ide.git.create_branch")
async def create_branch(sandboxId: str, body: BranchIn, world: CurrentWorld) -> Response:
    """Create a branch where the tree stands."""
    machines.find(world, sandboxId)
    await git.create_branch(world, body.path, body.name)
    return Response(status_code=201)


@router.delete(_GIT + "/branches", status_code=204, operation_id="ide.git.delete_branch")
async def delete_branch(sandboxId: str, body: BranchIn, world: CurrentWorld) -> Response:
    """Delete a branch."""
    machines.find(world, sandboxId)
    await git.delete_branch(world, body.path, body.name)
    return Response(status_code=204)


@router.post(_GIT + "/checkout", operation_id="ide.git.checkout")
async def checkout(sandboxId: str, body: CheckoutIn, world: CurrentWorld) -> Response:
    """Go to a branch or commit."""
    machines.find(world, sandboxId)
    await git.checkout(world, body.path, body.branch)
    return Response(status_code=200)


@router.post(_GIT + "/add", operation_id="ide.git.add")
async def add(sandboxId: str, body: AddIn, world: CurrentWorld) -> Response:
    """Stage files."""
    machines.find(world, sandboxId)
    await git.add(world, body.path, body.files)
    return Response(status_code=200)


@router.post(_GIT + "/commit", operation_id="ide.git.commit")
async def commit(sandboxId: str, body: CommitIn, world: CurrentWorld) -> Response:
    """Commit what is staged."""
    machines.find(world, sandboxId)
    sha = await git.commit(world, body.path, body.message, body.author, body.email, allow_empty=bool(body.allow_empty))
    return Json({"hash": sha})


@router.post(_GIT + "/push", operation_id="ide.git.push")
async def push(sandboxId: str, body: PushIn, world: CurrentWorld) -> Response:
    """Push the current branch to the code host."""
    machines.find(world, sandboxId)
    await git.push(
        world, body.path, set_upstream=bool(body.set_upstream), remote=body.remote or "", branch=body.branch or ""
    )
    return Response(status_code=200)


@router.post(_GIT + "/pull", operation_id="ide.git.pull")
async def pull(sandboxId: str, body: PushIn, world: CurrentWorld) -> Response:
    """Fetch from the code host and merge."""
    machines.find(world, sandboxId)
    await git.pull(world, body.path, body.remote or "", body.branch or "")
    return Response(status_code=200)


@router.post(_GIT + "/clone", operation_id="ide.git.clone")
async def clone(sandboxId: str, body: CloneIn, world: CurrentWorld) -> Response:
    """Clone a repository of the code host."""
    machines.find(world, sandboxId)
    await git.clone(world, body.url, body.path, body.branch, body.commit_id)
    return Response(status_code=200)


@router.get(_GIT + "/history", operation_id="ide.git.history")
async def history(sandboxId: str, path: str, world: CurrentWorld) -> Response:
    """Commits, the newest first."""
    machines.find(world, sandboxId)
    return Json(
        [
            {
                "hash": one.hash,
                "author": one.author,
                "email": one.email,
                "message": one.message,
                "timestamp": one.timestamp,
            }
            for one in await git.history(world, path)
        ]
    )


@router.post(_GIT + "/init", status_code=201, operation_id="ide.git.init")
async def init(sandboxId: str, body: RepositoryIn, world: CurrentWorld) -> Response:
    """Make an empty repository."""
    machines.find(world, sandboxId)
    await git.init(world, body.path)
    return Response(status_code=201)


@router.get(_GIT + "/remotes", operation_id="ide.git.remotes")
async def remotes(sandboxId: str, path: str, world: CurrentWorld) -> Response:
    """List remotes."""
    machines.find(world, sandboxId)
    found = await git.remotes(world, path)
    return Json({"remotes": [{"name": name, "url": url} for name, url in found.items()]})


@router.post(_GIT + "/remotes", status_code=201, operation_id="ide.git.add_remote")
async def add_remote(sandboxId: str, body: RemoteIn, world: CurrentWorld) -> Response:
    """Add a remote."""
    machines.find(world, sandboxId)
    await git.add_remote(world, body.path, body.name, body.url)
    return Response(status_code=201)


@router.post(_GIT + "/reset", operation_id="ide.git.reset")
async def reset(sandboxId: str, body: ResetIn, world: CurrentWorld) -> Response:
    """Move the branch back."""
    machines.find(world, sandboxId)
    await git.reset(world, body.path, body.mode or "mixed", body.target)
    return Response(status_code=200)


@router.post(_GIT + "/restore", operation_id="ide.git.restore")
async def restore(sandboxId: str, body: RestoreIn, world: CurrentWorld) -> Response:
    """Take files back from a commit or the index."""
    machines.find(world, sandboxId)
    await git.restore(world, body.path, body.files, staged=bool(body.staged), source=body.source)
    return Response(status_code=200)


@router.get(_GIT + "/config", operation_id="ide.git.config")
async def config(sandboxId: str, key: str, world: CurrentWorld, path: str | None = None) -> Response:
    """Read a setting."""
    machines.find(world, sandboxId)
    return Json({"key": key, "value": await git.config(world, path, key)})


@router.post(_GIT + "/config", operation_id="ide.git.set_config")
async def set_config(sandboxId: str, body: ConfigIn, world: CurrentWorld) -> Response:
    """Write a setting."""
    machines.find(world, sandboxId)
    await git.set_config(world, body.path, body.key, body.value, body.scope or "global")
    return Response(status_code=200)


@router.post(_GIT + "/config/user", operation_id="ide.git.set_user")
async def set_user(sandboxId: str, body: GitUserIn, world: CurrentWorld) -> Response:
    """Say who commits."""
    machines.find(world, sandboxId)
    for key, value in (("user.name", body.name), ("user.email", body.email)):
        await git.set_config(world, body.path, key, value, body.scope or "global")
    return Response(status_code=200)
