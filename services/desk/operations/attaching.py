"""Uploads: bytes that wait under a token until a comment takes them along."""

import base64
import hashlib

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations import records
from services.desk.operations.records import Body
from services.desk.tables import attachments, uploads
from services.kernel.statements import Row
from services.kernel.world import World

MOST_BYTES = 4 << 20
_THUMBED = ("image/png", "image/jpeg", "image/gif")


def upload(world: World, name: str, kind: str, content: bytes, token: str | None = None) -> tuple[Row, Row]:
    """Keep the bytes; a token that is known takes one more file."""
    if not name.strip():
        raise RecordInvalid("filename", "Filename: cannot be blank", "BlankValue")
    if not content:
        raise RecordInvalid("attachment", "Attachment: cannot be empty", "BlankValue")
    kept = records.add(
        world,
        attachments,
        {
            "file_name": name,
            "content_type": kind or "application/octet-stream",
            "size": len(content),
            "inline": False,
            "deleted": False,
            "_content": base64.b64encode(content).decode(),
        },
    )
    if token is not None:
        known = records.need(world, uploads, token)
        changes = {"attachment_ids": [*known["body"]["attachment_ids"], kept["id"]]}
        return records.change(world, uploads, known, changes), kept
    made = hashlib.sha256(f"upload\x1f{kept['id']}".encode()).hexdigest()[:26]
    return records.add(world, uploads, {"attachment_ids": [kept["id"]], "used": False}, made), kept


def taken(world: World, tokens: list[str]) -> list[int]:
    """The attachments under these tokens, which are spent by it."""
    found: list[int] = []
    for token in tokens:
        row = world.get(uploads, token)
        if row is None or row["body"]["used"]:
            raise RecordInvalid("uploads", f"Uploads: {token[:40]} is not a token of an upload")
        records.change(world, uploads, row, {"used": True})
        found += row["body"]["attachment_ids"]
    return found


def discard(world: World, token: str) -> None:
    row = records.need(world, uploads, token)
    if row["body"]["used"]:
        raise RecordNotFound
    for key in row["body"]["attachment_ids"]:
        records.remove(world, attachments, key)
    records.remove(world, uploads, token)


def content_of(row: Row) -> bytes:
    return base64.b64decode(row["body"]["_content"])


def shown(row: Row, base: str) -> Body:
    body = {name: value for name, value in row["body"].items() if not name.startswith("_")}
    where = f"{base}/api/v2/attachments/{row['id']}"
    return {
        "url": f"{where}.json",
        "id": row["id"],
        **body,
        "content_url": f"{where}/content",
        "mapped_content_url": f"{where}/content",
        "malware_scan_result": "malware_not_found",
        "thumbnails": [],
    }
