"""The workspace API: sandboxes."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.ide.operations import sandboxes
from services.ide.routes.dependencies import CurrentSandbox, NamedSandbox
from services.ide.rows import SandboxRow
from services.ide.schemas.toolbox import LabelsIn, SandboxIn, SandboxOut, SandboxPage
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso

router = product_router()
_ORGANIZATION = "3f0a1c52-8a1e-4c59-9d7e-b1c20f6f6a11"


@router.post("/api/sandbox", operation_id="ide.sandboxes.create", response_model=SandboxOut)
async def create(body: SandboxIn, request: Request, world: CurrentWorld) -> Response:
    """Create a sandbox. All sandboxes of an account show the same workspace."""
    return Json(_serialize(request, sandboxes.create(world, body.name, body.env or {}, body.labels or {})))


@router.get("/api/sandbox", operation_id="ide.sandboxes.list", response_model=SandboxPage)
async def page(
    request: Request,
    world: CurrentWorld,
    cursor: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    """List sandboxes."""
    rows, next_cursor = sandboxes.list_page(world, cursor, limit)
    items = [_serialize(request, row) for row in rows]
    return Json({"items": items, "nextCursor": next_cursor, "total": sandboxes.count(world)})


@router.get("/api/sandbox/{sandboxIdOrName}", operation_id="ide.sandboxes.get", response_model=SandboxOut)
async def read(sandbox: NamedSandbox, request: Request) -> Response:
    """Read one sandbox."""
    return Json(_serialize(request, sandbox))


@router.post("/api/sandbox/{sandboxIdOrName}/start", operation_id="ide.sandboxes.start", response_model=SandboxOut)
async def start(sandbox: NamedSandbox, request: Request, world: CurrentWorld) -> Response:
    """Start a sandbox."""
    return Json(_serialize(request, sandboxes.set_state(world, sandbox, "started")))


@router.post("/api/sandbox/{sandboxIdOrName}/stop", operation_id="ide.sandboxes.stop", response_model=SandboxOut)
async def stop(sandbox: NamedSandbox, request: Request, world: CurrentWorld, force: bool = False) -> Response:
    """Stop a sandbox; its files stay. With `force` its programs are ended, too."""
    return Json(_serialize(request, await sandboxes.stop(world, sandbox, force=force)))


@router.put("/api/sandbox/{sandboxIdOrName}/labels", operation_id="ide.sandboxes.label")
async def label(sandbox: NamedSandbox, body: LabelsIn, world: CurrentWorld) -> Response:
    """Replace a sandbox's labels."""
    return Json({"labels": sandboxes.set_labels(world, sandbox, body.labels)["labels"]})


@router.delete("/api/sandbox/{sandboxIdOrName}", operation_id="ide.sandboxes.delete", response_model=SandboxOut)
async def delete(sandbox: NamedSandbox, request: Request, world: CurrentWorld) -> Response:
    """Delete a sandbox; the workspace stays."""
    return Json(_serialize(request, sandboxes.remove(world, sandbox)))


@router.get("/api/sandbox/{sandboxId}/toolbox-proxy-url", operation_id="ide.sandboxes.toolbox_url")
async def toolbox_url(_: CurrentSandbox, request: Request) -> Response:
    """Where a sandbox's toolbox is."""
    return Json({"url": _toolbox_url(request)})


def _toolbox_url(request: Request) -> str:
    return f"{request.base_url}toolbox"


def _serialize(request: Request, row: SandboxRow) -> dict[str, Any]:
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
        "toolboxProxyUrl": _toolbox_url(request),
    }
