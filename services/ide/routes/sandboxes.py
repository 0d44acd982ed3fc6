"""The workspace API: sandboxes."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.ide.operations import machines
from services.ide.schemas.toolbox import LabelsIn, SandboxIn, SandboxOut, SandboxPage
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso
from services.kernel.statements import Row

router = product_router()
_SANDBOX = "/api/sandbox"
_ORGANIZATION = "3f0a1c52-8a1e-4c59-9d7e-b1c20f6f6a11"


@router.post(_SANDBOX, operation_id="ide.sandboxes.create", response_model=SandboxOut)
async def create(body: SandboxIn, request: Request, world: CurrentWorld) -> Response:
    """Create a sandbox. All sandboxes of an account show the same workspace."""
    return Json(out(request, machines.create(world, body.name, body.env or {}, body.labels or {})))


@router.get(_SANDBOX, operation_id="ide.sandboxes.list", response_model=SandboxPage)
async def page(
    request: Request,
    world: CurrentWorld,
    cursor: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    """List sandboxes."""
    found, after = machines.page(world, cursor, limit)
    items = [out(request, row) for row in found]
    return Json({"items": items, "nextCursor": after, "total": machines.count(world)})


@router.get(_SANDBOX + "/{sandboxIdOrName}", operation_id="ide.sandboxes.get", response_model=SandboxOut)
async def read(sandboxIdOrName: str, request: Request, world: CurrentWorld) -> Response:
    """Read one sandbox."""
    return Json(out(request, machines.find(world, sandboxIdOrName)))


@router.post(_SANDBOX + "/{sandboxIdOrName}/start", operation_id="ide.sandboxes.start", response_model=SandboxOut)
async def start(sandboxIdOrName: str, request: Request, world: CurrentWorld) -> Response:
    """Start a sandbox."""
    return Json(out(request, machines.turn(world, sandboxIdOrName, "started")))


@router.post(_SANDBOX + "/{sandboxIdOrName}/stop", operation_id="ide.sandboxes.stop", response_model=SandboxOut)
async def stop(sandboxIdOrName: str, request: Request, world: CurrentWorld, force: bool = False) -> Response:
    """Stop a sandbox; its files stay. With `force` its programs are ended, too."""
    return Json(out(request, await machines.stop(world, sandboxIdOrName, force=force)))


@router.put(_SANDBOX + "/{sandboxIdOrName}/labels", operation_id="ide.sandboxes.label")
async def label(sandboxIdOrName: str, body: LabelsIn, world: CurrentWorld) -> Response:
    """Replace a sandbox's labels."""
    return Json({"labels": machines.relabel(world, sandboxIdOrName, body.labels)["labels"]})


@router.delete(_SANDBOX + "/{sandboxIdOrName}", operation_id="ide.sandboxes.delete", response_model=SandboxOut)
async def delete(sandboxIdOrName: str, request: Request, world: CurrentWorld) -> Response:
    """Delete a sandbox; the workspace stays."""
    return Json(out(request, machines.remove(world, sandboxIdOrName)))


@router.get(_SANDBOX + "/{sandboxId}/toolbox-proxy-url", operation_id="ide.sandboxes.toolbox_url")
async def toolbox_url(sandboxId: str, request: Request, world: CurrentWorld) -> Response:
    """Where a sandbox's toolbox is."""
    machines.find(world, sandboxId)
    return Json({"url": toolbox(request)})


def toolbox(request: Request) -> str:
    return f"{request.base_url}toolbox"


def out(request: Request, row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "organizationId": _ORGANIZATION,
        "name": row["name"],
        "user": "dev",
        "env": row["env"],
        "labels": row["labels"],
        "public": False,
        "networkBlockAll": True,
        "kvm": False,
        "target": "eu",
        "cpu": 2,
        "gpu": 0,
        "memory": 1,
        "disk": 1,
        "state": row["state"],
        "desiredState": row["state"],
        "snapshot": "default",
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["created_at"]),
        "toolboxProxyUrl": toolbox(request),
    }
