"""Kits: sets of files that are too large for a row or a check's arguments, kept by the digest of their content.

Whoever prepares a task writes a kit into a folder that all services of a stack share, and names its digest; whoever
needs it reads it there. A kit that is changed or cut off is refused.
"""

import hashlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

import orjson

from services.kernel.config import kits_folder

_LEVEL = 1
_LONGEST_DIGEST = 64


class NoKit(LookupError):
    """A kit is missing or damaged: it was never written here, or its file was changed."""


def write_kit(files: Mapping[str, bytes], folder: Path | None = None) -> str:
    """Writes a kit unless it is there, and returns its digest."""
    content = _encode(files)
    digest = hashlib.sha256(content).hexdigest()
    path = _path(digest, folder)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Other processes may write the same kit: each renames a whole file of its own.
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_bytes(zlib.compress(content, _LEVEL))
        temporary.replace(path)
    return digest


def read_kit(digest: str, folder: Path | None = None) -> dict[str, bytes]:
    """Contents by path."""
    path = _path(digest, folder)
    try:
        content = zlib.decompress(path.read_bytes())
    except (OSError, zlib.error) as error:
        raise NoKit(
            f"the kit {digest[:12]} cannot be read ({error}): run `make worlds` and start the stack anew"
        ) from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise NoKit(f"the kit {digest[:12]} is not what was written: remove {path.name} and run `make worlds`")
    return _decode(content)


def _path(digest: str, folder: Path | None) -> Path:
    if len(digest) != _LONGEST_DIGEST or not digest.isalnum():
        raise NoKit(f"{digest[:80]!r} is no digest of a kit")
    return (kits_folder() if folder is None else folder) / digest[:2] / digest


def _encode(files: Mapping[str, bytes]) -> bytes:
    index = orjson.dumps([[path, len(content)] for path, content in sorted(files.items())])
    return b"%d\n%s" % (len(index), index) + b"".join(content for _, content in sorted(files.items()))


def _decode(content: bytes) -> dict[str, bytes]:
    length, _, _ = content.partition(b"\n")
    start = len(length) + 1
    position = start + int(length)
    files: dict[str, bytes] = {}
    for path, size in orjson.loads(content[start:position]):
        files[path] = content[position : position + size]
        position += size
    return files
