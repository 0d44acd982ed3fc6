"""Uploads: files that wait under a token until a comment takes them along."""

import base64

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.rows import AttachmentId, UploadToken
from services.desk.rows.tickets import AttachmentRow, UploadRow
from services.desk.tables import attachments, uploads
from services.kernel.world import World


def add_upload(
    world: World, name: str, content_type: str, content: bytes, token: UploadToken | None = None
) -> tuple[UploadRow, AttachmentRow]:
    """Keeps a file under a new token, or under one that already has files."""
    if not name.strip():
        raise RecordInvalid("filename", "Filename: cannot be blank", "BlankValue")
    if not content:
        raise RecordInvalid("attachment", "Attachment: cannot be empty", "BlankValue")
    attachment = attachments.add(
        world,
        {
            "file_name": name,
            "content_type": content_type or "application/octet-stream",
            "size": len(content),
            "inline": False,
            "deleted": False,
            "_content": base64.b64encode(content).decode(),
        },
    )
    if token is not None:
        upload = uploads.need(world, token)
        files = [*upload["body"]["attachment_ids"], attachment["id"]]
        return uploads.change(world, upload, {**upload["body"], "attachment_ids": files}), attachment
    token = UploadToken(world.ids.digest("upload", attachment["id"]).hex()[:26])
    return uploads.add(world, {"attachment_ids": [attachment["id"]], "used": False}, token), attachment


def use_uploads(world: World, tokens: list[str]) -> list[AttachmentId]:
    """Returns the attachments under these tokens; each token can be used once."""
    files: list[AttachmentId] = []
    for token in tokens:
        row = world.get(uploads, UploadToken(token))
        if row is None or row["body"]["used"]:
            raise RecordInvalid("uploads", f"Uploads: {token[:40]} is not a token of an upload")
        uploads.change(world, row, {**row["body"], "used": True})
        files += row["body"]["attachment_ids"]
    return files


def discard_upload(world: World, token: UploadToken) -> None:
    row = uploads.need(world, token)
    if row["body"]["used"]:
        raise RecordNotFound
    for key in row["body"]["attachment_ids"]:
        attachments.discard(world, key)
    uploads.discard(world, token)


def read_content(row: AttachmentRow) -> bytes:
    return base64.b64decode(row["body"]["_content"])
