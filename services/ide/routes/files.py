"""The toolbox: files."""

import re
from typing import Any

from fastapi import Request, Response
from starlette.datastructures import UploadFile

from services.ide.errors import BadRequest
from services.ide.operations import machines, tree
from services.ide.routes.processes import BASE
from services.ide.schemas.toolbox import DirOut, FileOut, FilesFound, MatchOut, PathsIn, Replaced, ReplaceIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso
from services.kernel.errors import Refusal

router = product_router()
_FILES = BASE + "/files"
_PART = re.compile(r"files\[(\d+)\]\.(path|file)")
_BOUNDARY = "7d9f1b0c4e6a48a2b1d3c5e7f9a0b2c4"


@router.get(_FILES, operation_id="ide.files.list", response_model=list[FileOut])
async def listing(sandboxId: str, world: CurrentWorld, path: str = "", depth: int = 1) -> Response:
    """List what a folder holds."""
    machines.find(world, sandboxId)
    return Json([_out(found) for found in await tree.listing(world, path, min(depth, 8))])


@router.get(_FILES + "/info", operation_id="ide.files.info", response_model=FileOut)
async def info(sandboxId: str, path: str, world: CurrentWorld) -> Response:
    """Size, mode, owner and date of a file."""
    machines.find(world, sandboxId)
    return Json(_out(await tree.info(world, path)))


@router.get(_FILES + "/find", operation_id="ide.files.grep", response_model=list[MatchOut])
async def grep(sandboxId: str, path: str, pattern: str, world: CurrentWorld) -> Response:
    """Lines that match a regular expression, below a path."""
    machines.find(world, sandboxId)
    found = await tree.grep(world, path, pattern)
    return Json([{"file": one.file, "line": one.line, "content": one.content} for one in found])


@router.get(_FILES + "/search", operation_id="ide.files.glob", response_model=FilesFound)
async def glob(sandboxId: str, path: str, pattern: str, world: CurrentWorld) -> Response:
    """Files whose name matches a pattern such as *.py."""
    machines.find(world, sandboxId)
    return Json({"files": await tree.glob(world, path, pattern)})


@router.post(_FILES + "/replace", operation_id="ide.files.replace", response_model=list[Replaced])
async def replace(sandboxId: str, body: ReplaceIn, world: CurrentWorld) -> Response:
    """Replace a text in files."""
    machines.find(world, sandboxId)
    done = await tree.replace(world, body.files, body.pattern, body.newValue)
    return Json([_replaced(file, wrong) for file, wrong in done])


@router.post(_FILES + "/folder", status_code=201, operation_id="ide.files.make_folder")
async def make_folder(sandboxId: str, path: str, world: CurrentWorld, mode: str = "755") -> Response:
    """Make a folder and those above it."""
    machines.find(world, sandboxId)
    await tree.make_folder(world, path, mode)
    return Response(status_code=201)


@router.post(_FILES + "/move", operation_id="ide.files.move")
async def move(sandboxId: str, source: str, destination: str, world: CurrentWorld) -> Response:
    """Move or rename."""
    machines.find(world, sandboxId)
    await tree.move(world, source, destination)
    return Response(status_code=200)


@router.post(_FILES + "/permissions", operation_id="ide.files.permit")
async def permit(
    sandboxId: str,
    path: str,
    world: CurrentWorld,
    mode: str | None = None,
    owner: str | None = None,
    group: str | None = None,
) -> Response:
    """Change mode or owner."""
    machines.find(world, sandboxId)
    await tree.permit(world, path, mode, owner, group)
    return Response(status_code=200)


@router.delete(_FILES, status_code=204, operation_id="ide.files.delete")
async def delete(sandboxId: str, path: str, world: CurrentWorld, recursive: bool = False) -> Response:
    """Delete a file, or a folder with `recursive`."""
    machines.find(world, sandboxId)
    await tree.delete(world, path, recursive=recursive)
    return Response(status_code=204)


@router.get(_FILES + "/download", operation_id="ide.files.download")
async def download(sandboxId: str, path: str, world: CurrentWorld) -> Response:
    """A file's bytes."""
    machines.find(world, sandboxId)
    return Response(await tree.read(world, path), media_type="application/octet-stream")


@router.post(_FILES + "/bulk-upload", operation_id="ide.files.upload")
async def bulk_upload(sandboxId: str, request: Request, world: CurrentWorld) -> Response:
    """Write files: parts `files[0].path` and `files[0].file`, `files[1].path` …"""
    machines.find(world, sandboxId)
    for path, content in await _uploaded(request):
        await tree.write(world, path, content)
    return Response(status_code=200)


@router.post(_FILES + "/upload-v2", operation_id="ide.files.upload_one")
async def upload_one(sandboxId: str, path: str, request: Request, world: CurrentWorld) -> Response:
    """Write one file: the body as it is, or the part `file`."""
    machines.find(world, sandboxId)
    content = await request.body()
    if request.headers.get("content-type", "").startswith("multipart/"):
        part = (await request.form()).get("file")
        content = await part.read() if isinstance(part, UploadFile) else b""
    await tree.write(world, path, content)
    return Response(status_code=200)


@router.post(_FILES + "/bulk-download", operation_id="ide.files.download_many")
async def bulk_download(sandboxId: str, body: PathsIn, world: CurrentWorld) -> Response:
    """Several files as one multipart answer; what cannot be read is a part called `error`."""
    machines.find(world, sandboxId)
    parts = []
    for path in body.paths:
        try:
            parts.append(_part("file", path, "application/octet-stream", await tree.read(world, path)))
        except Refusal as refusal:
            parts.append(_part("error", path, "text/plain", refusal.message.encode()))
    ending = f"--{_BOUNDARY}--\r\n".encode()
    return Response(b"".join(parts) + ending, media_type=f"multipart/form-data; boundary={_BOUNDARY}")


@router.get(BASE + "/work-dir", operation_id="ide.files.work_dir", response_model=DirOut)
async def work_dir(sandboxId: str, world: CurrentWorld) -> Response:
    """Where commands start."""
    machines.find(world, sandboxId)
    return Json({"dir": tree.home()})


@router.get(BASE + "/user-home-dir", operation_id="ide.files.home_dir", response_model=DirOut)
async def home_dir(sandboxId: str, world: CurrentWorld) -> Response:
    """The user's home."""
    machines.find(world, sandboxId)
    return Json({"dir": tree.home()})


@router.get(BASE + "/version", operation_id="ide.toolbox.version")
async def version(sandboxId: str, world: CurrentWorld) -> Response:
    """The toolbox's version."""
    machines.find(world, sandboxId)
    return Json({"version": "v0.226.1"})


async def _uploaded(request: Request) -> list[tuple[str, bytes]]:
    found: dict[int, dict[str, Any]] = {}
    for name, value in (await request.form()).multi_items():
        if match := _PART.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = (
                await value.read() if isinstance(value, UploadFile) else value
            )
    if not found or any({"path", "file"} - one.keys() for one in found.values()):
        raise BadRequest("each file needs the parts files[n].path and files[n].file")
    return [(str(one["path"]), _bytes(one["file"])) for _, one in sorted(found.items())]


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _part(name: str, path: str, media: str, content: bytes) -> bytes:
    safe = path.replace('"', "%22").replace("\r", "").replace("\n", "")
    disposition = f'form-data; name="{name}"; filename="{safe}"'
    head = f"--{_BOUNDARY}\r\nContent-Disposition: {disposition}\r\nContent-Type: {media}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def _replaced(file: str, wrong: str | None) -> dict[str, Any]:
    return {"file": file, "success": wrong is None} | ({} if wrong is None else {"error": wrong})


def _out(found: dict[str, Any]) -> dict[str, Any]:
    at = iso(found["at_ms"])
    return {
        "name": found["name"],
        "path": found["path"],
        "isDir": found["folder"],
        "size": found["size"],
        "mode": found["mode"],
        "permissions": found["permissions"],
        "owner": found["owner"],
        "group": found["group"],
        "modTime": at,
        "modifiedAt": at,
    }
