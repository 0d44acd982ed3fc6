"""The toolbox: files."""

import re
from dataclasses import asdict
from typing import Any

from fastapi import Request, Response
from starlette.datastructures import UploadFile

from services.ide.errors import BadRequest
from services.ide.operations import files
from services.ide.operations.files import FileInfo, Replacement
from services.ide.routes.dependencies import toolbox_router
from services.ide.sandbox.system_files import HOME
from services.ide.schemas.toolbox import DirOut, FileOut, FilesFound, MatchOut, PathsIn, Replaced, ReplaceIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.clock import iso
from services.kernel.errors import Refusal

router = toolbox_router()
_PART = re.compile(r"files\[(\d+)\]\.(path|file)")
_BOUNDARY = "7d9f1b0c4e6a48a2b1d3c5e7f9a0b2c4"


@router.get("/toolbox/{sandboxId}/files", operation_id="ide.files.list", response_model=list[FileOut])
async def listing(world: CurrentWorld, path: str = "", depth: int = 1) -> Response:
    """List what a folder holds."""
    return Json([_serialize(info) for info in await files.list_folder(world, path, min(depth, 8))])


@router.get("/toolbox/{sandboxId}/files/info", operation_id="ide.files.info", response_model=FileOut)
async def info(path: str, world: CurrentWorld) -> Response:
    """Size, mode, owner and date of a file."""
    return Json(_serialize(await files.info(world, path)))


@router.get("/toolbox/{sandboxId}/files/find", operation_id="ide.files.grep", response_model=list[MatchOut])
async def grep(path: str, pattern: str, world: CurrentWorld) -> Response:
    """Lines that match a regular expression, below a path."""
    return Json([asdict(match) for match in await files.grep(world, path, pattern)])


@router.get("/toolbox/{sandboxId}/files/search", operation_id="ide.files.glob", response_model=FilesFound)
async def glob(path: str, pattern: str, world: CurrentWorld) -> Response:
    """Files whose name matches a pattern such as *.py."""
    return Json({"files": await files.glob(world, path, pattern)})


@router.post("/toolbox/{sandboxId}/files/replace", operation_id="ide.files.replace", response_model=list[Replaced])
async def replace(body: ReplaceIn, world: CurrentWorld) -> Response:
    """Replace a text in files."""
    replacements = await files.replace(world, body.files, body.pattern, body.newValue)
    return Json([_serialize_replacement(replacement) for replacement in replacements])


@router.post("/toolbox/{sandboxId}/files/folder", status_code=201, operation_id="ide.files.make_folder")
async def make_folder(path: str, world: CurrentWorld, mode: str = "755") -> Response:
    """Make a folder and those above it."""
    await files.make_folder(world, path, mode)
    return Response(status_code=201)


@router.post("/toolbox/{sandboxId}/files/move", operation_id="ide.files.move")
async def move(source: str, destination: str, world: CurrentWorld) -> Response:
    """Move or rename."""
    await files.move(world, source, destination)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/files/permissions", operation_id="ide.files.permit")
async def permit(
    path: str,
    world: CurrentWorld,
    mode: str | None = None,
    owner: str | None = None,
    group: str | None = None,
) -> Response:
    """Change mode or owner."""
    await files.permit(world, path, mode, owner, group)
    return Response(status_code=200)


@router.delete("/toolbox/{sandboxId}/files", status_code=204, operation_id="ide.files.delete")
async def delete(path: str, world: CurrentWorld, recursive: bool = False) -> Response:
    """Delete a file, or a folder with `recursive`."""
    await files.delete(world, path, recursive=recursive)
    return Response(status_code=204)


@router.get("/toolbox/{sandboxId}/files/download", operation_id="ide.files.download")
async def download(path: str, world: CurrentWorld) -> Response:
    """A file's bytes."""
    return Response(await files.read(world, path), media_type="application/octet-stream")


@router.post("/toolbox/{sandboxId}/files/bulk-upload", operation_id="ide.files.upload")
async def bulk_upload(request: Request, world: CurrentWorld) -> Response:
    """Write files: parts `files[0].path` and `files[0].file`, `files[1].path` …"""
    for path, content in await _read_uploads(request):
        await files.write(world, path, content)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/files/upload-v2", operation_id="ide.files.upload_one")
async def upload_one(path: str, request: Request, world: CurrentWorld) -> Response:
    """Write one file: the body as it is, or the part `file`."""
    content = await request.body()
    if request.headers.get("content-type", "").startswith("multipart/"):
        part = (await request.form()).get("file")
        content = await part.read() if isinstance(part, UploadFile) else b""
    await files.write(world, path, content)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/files/bulk-download", operation_id="ide.files.download_many")
async def bulk_download(body: PathsIn, world: CurrentWorld) -> Response:
    """Several files as one multipart answer; what cannot be read is a part called `error`."""
    parts = []
    for path in body.paths:
        try:
            parts.append(_part("file", path, "application/octet-stream", await files.read(world, path)))
        except Refusal as refusal:
            parts.append(_part("error", path, "text/plain", refusal.message.encode()))
    ending = f"--{_BOUNDARY}--\r\n".encode()
    return Response(b"".join(parts) + ending, media_type=f"multipart/form-data; boundary={_BOUNDARY}")


@router.get("/toolbox/{sandboxId}/work-dir", operation_id="ide.files.work_dir", response_model=DirOut)
async def work_dir() -> Response:
    """Where commands start."""
    return Json({"dir": HOME})


@router.get("/toolbox/{sandboxId}/user-home-dir", operation_id="ide.files.home_dir", response_model=DirOut)
async def home_dir() -> Response:
    """The user's home."""
    return Json({"dir": HOME})


@router.get("/toolbox/{sandboxId}/version", operation_id="ide.toolbox.version")
async def version() -> Response:
    """The toolbox's version."""
    return Json({"version": "v0.226.1"})


async def _read_uploads(request: Request) -> list[tuple[str, bytes]]:
    """(path, content) each, in the order of their numbers."""
    uploads: dict[int, dict[str, str | bytes]] = {}
    for name, value in (await request.form()).multi_items():
        if match := _PART.fullmatch(name):
            content = await value.read() if isinstance(value, UploadFile) else value
            uploads.setdefault(int(match[1]), {})[match[2]] = content
    if not uploads or any({"path", "file"} - parts.keys() for parts in uploads.values()):
        raise BadRequest("each file needs the parts files[n].path and files[n].file")
    return [(str(parts["path"]), _bytes(parts["file"])) for _, parts in sorted(uploads.items())]


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _part(name: str, path: str, media: str, content: bytes) -> bytes:
    safe = path.replace('"', "%22").replace("\r", "").replace("\n", "")
    disposition = f'form-data; name="{name}"; filename="{safe}"'
    head = f"--{_BOUNDARY}\r\nContent-Disposition: {disposition}\r\nContent-Type: {media}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def _serialize_replacement(replacement: Replacement) -> dict[str, Any]:
    document: dict[str, Any] = {"file": replacement.file, "success": replacement.error is None}
    return document if replacement.error is None else {**document, "error": replacement.error}


def _serialize(info: FileInfo) -> dict[str, Any]:
    modified = iso(info["modified_ms"])
    return {
        "name": info["name"],
        "path": info["path"],
        "isDir": info["folder"],
        "size": info["size"],
        "mode": info["mode"],
        "permissions": info["permissions"],
        "owner": info["owner"],
        "group": info["group"],
        "modTime": modified,
        "modifiedAt": modified,
    }
