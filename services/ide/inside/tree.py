"""Files of the sandbox: read, written, listed, moved, and all of them taken at once."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from io import BytesIO

from .bare import loads

# One system call each, on hundreds of paths: an object for every one of them costs more than the call.
# ruff: noqa: PTH101, PTH103, PTH108, PTH110, PTH112, PTH114, PTH115, PTH116, PTH118, PTH119, PTH120, PTH123, PTH208

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Message = dict[str, Any]
    Moments = list[tuple[int, int]]
    Told = tuple[Message, bytes]
_LARGEST = 64 << 20
_KIND, _LINK, _FOLDER = 0o170000, 0o120000, 0o040000
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW


def put(message: Message, blob: bytes, _: Moments) -> Told:
    """Lay out a whole tree: [path, mode, size, time] each, contents one after the other; folders where they are empty.

    Written as one loop, three calls a file: an opening waits for it.
    """
    root, at = message["root"], message["index"]
    contents = memoryview(blob)
    opened: dict[str, int] = {}
    try:
        for path, mode, size, seconds in loads(blob[:at]):
            folder, _slash, name = path.rpartition("/")
            place = opened.get(folder)
            if place is None:
                place = opened[folder] = _opened_folder(f"{root}/{folder}")
            content = contents[at : at + size]
            at += size
            if mode & _KIND == _FOLDER:
                os.makedirs(f"{root}/{path}", exist_ok=True)
                continue
            if mode & _KIND == _LINK:
                os.symlink(bytes(content), name, dir_fd=place)
                continue
            descriptor = os.open(name, _CREATE, mode & 0o777, dir_fd=place)
            while content and (written := os.write(descriptor, content)) < len(content):
                content = content[written:]
            if seconds:
                os.utime(descriptor, ns=(seconds * 10**9, seconds * 10**9))
            os.close(descriptor)
    finally:
        for descriptor in opened.values():
            os.close(descriptor)
    return {}, b""


def _opened_folder(path: str) -> int:
    os.makedirs(path, exist_ok=True)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def take_all(message: Message, _: bytes, __: Moments) -> Told:
    """Every file below a folder, as `put` takes them; what is neither file nor link is left out."""
    index: list[list[Any]] = []
    contents: list[bytes] = []
    for path, full, status in _walk(message["root"], set(message.get("without") or ())):
        content = os.fsencode(os.readlink(full)) if stat.S_ISLNK(status.st_mode) else _content(full)
        if content is not None:
            index.append([path, status.st_mode, len(content), int(status.st_mtime)])
            contents.append(content)
    return {"index": index}, b"".join(contents)


def scan(message: Message, _: bytes, __: Moments) -> Told:
    """Path, mode and SHA-256 of every file below a folder."""
    # hashlib would load a whole library of digests first.
    from _sha256 import sha256  # type: ignore[import-not-found]  # part of this interpreter, and without a stub

    found: list[list[Any]] = []
    for path, full, status in _walk(message["root"], set(message.get("without") or ())):
        content = os.fsencode(os.readlink(full)) if stat.S_ISLNK(status.st_mode) else _content(full)
        if content is not None:
            found.append([path, status.st_mode, sha256(content).hexdigest(), len(content)])
    return {"files": found}, b""


def read(message: Message, _: bytes, __: Moments) -> Told:
    with open(message["path"], "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(27, "File too large", message["path"])
    return {}, content


def write(message: Message, blob: bytes, _: Moments) -> Told:
    path = message["path"]
    if folder := os.path.dirname(path):
        os.makedirs(folder, exist_ok=True)
    with open(path, "wb") as file:
        file.write(blob)
    return {}, b""


def unzip(message: Message, blob: bytes, _: Moments) -> Told:
    """Names that climb out and sizes that lie are met by zipfile and by the file system's own limit."""
    import zipfile

    os.makedirs(message["path"], exist_ok=True)
    with zipfile.ZipFile(BytesIO(blob)) as archive:
        archive.extractall(message["path"])
    return {}, b""


def info(message: Message, _: bytes, moments: Moments) -> Told:
    return {"info": _about(message["path"], moments)}, b""


def listing(message: Message, _: bytes, moments: Moments) -> Told:
    """What a folder holds, and what its folders hold, `depth` levels down."""
    found: list[Message] = []
    level = [message["path"]]
    for _level in range(max(1, message.get("depth") or 1)):
        below: list[str] = []
        for folder in level:
            for name in sorted(os.listdir(folder)):
                full = os.path.join(folder, name)
                found.append(_about(full, moments))
                if os.path.isdir(full) and not os.path.islink(full):
                    below.append(full)
        level = below
    return {"files": found}, b""


def glob(message: Message, _: bytes, __: Moments) -> Told:
    import fnmatch

    pattern, root = message["pattern"], message["path"]
    if not os.path.isdir(root):
        raise FileNotFoundError(2, "No such file or directory", root)
    found = [
        full
        for path, full, _status in _walk(root, {".git"}, folders=True)
        if fnmatch.fnmatchcase(os.path.basename(path), pattern) or fnmatch.fnmatchcase(path, pattern)
    ]
    return {"files": sorted(found)}, b""


def make_folder(message: Message, _: bytes, __: Moments) -> Told:
    os.makedirs(message["path"], exist_ok=True)
    os.chmod(message["path"], message["mode"])
    return {}, b""


def move(message: Message, _: bytes, __: Moments) -> Told:
    import shutil

    if not os.path.lexists(message["source"]):
        raise FileNotFoundError(2, "No such file or directory", message["source"])
    shutil.move(message["source"], message["destination"])
    return {}, b""


def delete(message: Message, _: bytes, __: Moments) -> Told:
    path = message["path"]
    if os.path.isdir(path) and not os.path.islink(path):
        if not message.get("recursive"):
            raise IsADirectoryError(21, "Is a directory", path)
        import shutil

        shutil.rmtree(path)
    else:
        os.unlink(path)
    return {}, b""


def permit(message: Message, _: bytes, __: Moments) -> Told:
    path = message["path"]
    if message.get("mode") is not None:
        os.chmod(path, message["mode"])
    if message.get("owner") or message.get("group"):
        owner = pwd.getpwnam(message["owner"]).pw_uid if message.get("owner") else -1
        group = grp.getgrnam(message["group"]).gr_gid if message.get("group") else -1
        os.chown(path, owner, group)
    return {}, b""


def _walk(root: str, without: set[str], *, folders: bool = False) -> Iterator[tuple[str, str, os.stat_result]]:
    """In the order of names; links are told of, never followed."""
    stack = [""]
    while stack:
        inside = stack.pop()
        with os.scandir(f"{root}/{inside}" if inside else root) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.name in without:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder:
                stack.append(path)
            if folders or not is_folder:
                yield path, entry.path, entry.stat(follow_symlinks=False)


def _content(path: str) -> bytes | None:
    """None for what is no file, what grew too large, or what is gone again."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        return file.read()


def _about(path: str, moments: Moments) -> Message:
    status = os.lstat(path)
    return {
        "name": os.path.basename(path.rstrip("/")) or "/",
        "path": path,
        "folder": stat.S_ISDIR(os.stat(path).st_mode) if os.path.exists(path) else False,
        "size": status.st_size,
        "mode": stat.filemode(status.st_mode),
        "permissions": f"{stat.S_IMODE(status.st_mode):04o}",
        "owner": _name(pwd.getpwuid, status.st_uid),
        "group": _name(grp.getgrgid, status.st_gid),
        "at_ms": _dated(status.st_mtime_ns, moments),
    }


def _dated(nanoseconds: int, moments: Moments) -> int:
    """What was laid out has the date it came with; what was written since, the host's time of the request.

    What this machine made before it was first told the time, the folders of a tree, dates from that first request.
    """
    import bisect

    at = bisect.bisect_right(moments, (nanoseconds, 1 << 62)) - 1
    return nanoseconds // 10**6 if at < 0 else moments[min(max(at, 1), len(moments) - 1)][1]


def _name(lookup: Callable[[int], tuple[Any, ...]], number: int) -> str:
    try:
        return str(lookup(number)[0])
    except KeyError:
        return str(number)


ACTIONS: dict[str, Callable[[Message, bytes, Moments], Told]] = {
    "put": put,
    "take_all": take_all,
    "scan": scan,
    "read": read,
    "write": write,
    "unzip": unzip,
    "info": info,
    "list": listing,
    "glob": glob,
    "make_folder": make_folder,
    "move": move,
    "delete": delete,
    "permit": permit,
}
