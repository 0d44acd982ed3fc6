"""Files of the sandbox: read, written, listed, moved, and whole trees laid out."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from io import BytesIO

from .minimal_stdlib import ignore_os_errors, loads

# One system call each, on hundreds of paths: an object for every one of them costs more than the call.
# ruff: noqa: PTH101, PTH103, PTH108, PTH110, PTH112, PTH114, PTH115, PTH116, PTH118, PTH119, PTH120, PTH123, PTH208

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, Any

    Message = dict[str, Any]
    Moments = list[tuple[int, int]]
    Result = tuple[Message, bytes]
_LARGEST = 64 << 20
# How much of new files is read to tell what they hold.
_MOST_DIGESTED = 64 << 20
# What git, venv and the tools that follow the convention for caches leave in a folder of their own.
_MARKERS = (".git", "pyvenv.cfg", "CACHEDIR.TAG")
_OPEN_FOLDER = 0o500
# Tables of this network namespace: path, how the counter's lines begin, its name.
_REFUSED_ROUTES = (("/proc/net/snmp", "Ip:", "OutNoRoutes"), ("/proc/net/snmp6", "Ip6OutNoRoutes", ""))
_KIND, _LINK, _FOLDER = 0o170000, 0o120000, 0o040000
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW


def put(message: Message, blob: bytes, _: Moments) -> Result:
    """Lay out a whole tree: [path, mode, size, time] each, contents one after the other; folders where they are empty.

    Written as one loop, three calls a file: an opening waits for it.
    """
    root, position = message["root"], message["index"]
    contents = memoryview(blob)
    folders: dict[str, int] = {}
    try:
        for path, mode, size, seconds in loads(blob[:position]):
            folder, _slash, name = path.rpartition("/")
            place = folders.get(folder)
            if place is None:
                place = folders[folder] = _open_folder(f"{root}/{folder}")
            content = contents[position : position + size]
            position += size
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
        for descriptor in folders.values():
            os.close(descriptor)
    return {}, b""


def _open_folder(path: str) -> int:
    os.makedirs(path, exist_ok=True)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def _load_sha256() -> Any:
    """The interpreter's own; hashlib would load a whole library of digests first."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]  # Python 3.12 and later; it has no stub
    except ImportError:
        from _sha256 import sha256  # type: ignore[import-not-found]  # Python 3.11
    return sha256


def scan(message: Message, _: bytes, __: Moments) -> Result:
    """What differs below a folder from what is `known` (path → [mode, SHA-256]), with its content.

    Files that are known are always compared. Of new files only the first `most_files` are listed, and contents are
    sent up to `most_bytes`: [path, mode, size, SHA-256 or "", length of the content or -1] each.
    """
    sha256 = _load_sha256()
    digests: dict[str, list[Any]] = message["known"]
    most_files, most_bytes, to_digest = message["most_files"], message["most_bytes"], _MOST_DIGESTED
    files: list[list[Any]] = []
    contents: list[bytes] = []
    present: set[str] = set()
    is_complete = True
    locked: list[tuple[str, int]] = []
    try:
        for path, full, status in _walk_known_first(message["root"], digests, message["without"], locked):
            name = _spell(path)
            was = digests.get(name)
            if was is None and most_files <= 0:
                is_complete = False
                break
            content, digest, is_kept = b"", "", False
            if was is not None or status.st_size <= min(to_digest, _LARGEST):
                entry = _link_target(full) if stat.S_ISLNK(status.st_mode) else _content(full)
                if entry is None:
                    continue
                content = entry
                digest = sha256(content).hexdigest()
                to_digest -= 0 if was is not None else len(content)
                is_kept = len(content) <= min(message["largest"], most_bytes)
            elif not stat.S_ISREG(status.st_mode):
                continue
            present.add(name)
            if was == [_git_mode(status.st_mode), digest]:
                continue
            most_files -= was is None
            if is_kept:
                most_bytes -= len(content)
                contents.append(content)
            files.append([name, _git_mode(status.st_mode), status.st_size, digest, len(content) if is_kept else -1])
    finally:
        for folder, mode in reversed(locked):
            with ignore_os_errors:
                os.chmod(folder, mode)
    gone = sorted(digests.keys() - present)
    result = {"files": files, "gone": gone, "is_complete": is_complete, "outward": count_outward_attempts()}
    return result, b"".join(contents)


def count_outward_attempts() -> int:
    """How often a program in here tried to reach an address that is not this machine's.

    The sandbox has no route to one, and the kernel counts what it refuses for that reason: in this network namespace
    alone, for every program and every way to connect or send, and nobody in here can set the counters back.
    """
    return sum(_read_counter(*place) for place in _REFUSED_ROUTES)


def _read_counter(path: str, heading: str, name: str) -> int:
    """Newer tables have a line for each counter; older ones a line of names above one of values."""
    try:
        with open(path) as table:
            lines = [line.split() for line in table if line.startswith(heading)]
    except OSError:
        return 0
    if len(lines) == 1:
        return int(lines[0][1])
    return int(lines[1][lines[0].index(name)]) if lines else 0


def _spell(path: str) -> str:
    """A name that is no UTF-8 is spelled out: two such names stay two."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _git_mode(mode: int) -> int:
    """Git knows links, executable files and other files."""
    if stat.S_ISLNK(mode):
        return _LINK
    return 0o100755 if mode & 0o100 else 0o100644


def _walk_known_first(
    root: str, digests: dict[str, list[Any]], without: list[str], locked: list[tuple[str, int]]
) -> Iterator[tuple[str, str, os.stat_result]]:
    """Folders that hold a known file come first; of the others, those that a tool has made for itself are left out."""
    folders = {path[:place] for path in digests for place in range(len(path)) if path[place] == "/"} | {""}
    others: list[str] = []

    def take(path: str) -> bool:
        if _spell(path) in folders:
            return True
        others.append(path)
        return False

    # New files of known folders wait until all known files were seen.
    late: list[tuple[str, str, os.stat_result]] = []
    for entry in _walk(root, set(without), locked=locked, take=take):
        if _spell(entry[0]) in digests:
            yield entry
        else:
            late.append(entry)
    yield from (entry for entry in late if entry[0][0] != ".")
    for start in others:
        above = f"{root}/{start}"
        if start[0] != "." and not _is_made_by_tool(above):
            for path, full, status in _walk(above, set(without), locked=locked, take=_outside_tools(above)):
                yield f"{start}/{path}", full, status


def _outside_tools(above: str) -> Callable[[str], bool]:
    return lambda path: not _is_made_by_tool(f"{above}/{path}")


def _is_made_by_tool(folder: str) -> bool:
    """A clone or a worktree, an environment, a cache, or what an installation leaves."""
    if folder.endswith((".egg-info", ".dist-info")):
        return True
    try:
        return any(os.path.lexists(f"{folder}/{marker}") for marker in _MARKERS)
    except ValueError:
        return False


def _link_target(path: str) -> bytes | None:
    try:
        return os.fsencode(os.readlink(path))
    except OSError:
        return None


def read(message: Message, _: bytes, __: Moments) -> Result:
    if message.get("link"):
        return {}, os.fsencode(os.readlink(message["path"]))
    with _open_file(message["path"], os.O_RDONLY) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(27, "File too large", message["path"])
    return {}, content


def write(message: Message, blob: bytes, _: Moments) -> Result:
    path = message["path"]
    if folder := os.path.dirname(path):
        os.makedirs(folder, exist_ok=True)
    with _open_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
        file.write(blob)
    return {}, b""


def _open_file(path: str, flags: int) -> IO[bytes]:
    """Without waiting: a pipe would wait for its other end."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument", path)
        return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "wb")
    except BaseException:
        os.close(descriptor)
        raise


def unzip(message: Message, blob: bytes, _: Moments) -> Result:
    """zipfile refuses names that climb out, and the file system's own limit sizes that lie."""
    import zipfile

    os.makedirs(message["path"], exist_ok=True)
    with zipfile.ZipFile(BytesIO(blob)) as archive:
        archive.extractall(message["path"])
    return {}, b""


def info(message: Message, _: bytes, moments: Moments) -> Result:
    return {"info": _describe(message["path"], moments)}, b""


def listing(message: Message, _: bytes, moments: Moments) -> Result:
    """The entries of a folder and of its folders, `depth` levels down."""
    files: list[Message] = []
    level = [message["path"]]
    for _level in range(max(1, message.get("depth") or 1)):
        below: list[str] = []
        for folder in level:
            for name in sorted(os.listdir(folder)):
                full = os.path.join(folder, name)
                files.append(_describe(full, moments))
                if os.path.isdir(full) and not os.path.islink(full):
                    below.append(full)
        level = below
    return {"files": files}, b""


def glob(message: Message, _: bytes, __: Moments) -> Result:
    import fnmatch

    pattern, root = message["pattern"], message["path"]
    if not os.path.isdir(root):
        raise FileNotFoundError(2, "No such file or directory", root)
    paths = [
        full
        for path, full, _status in _walk(root, {".git"}, folders=True)
        if fnmatch.fnmatchcase(os.path.basename(path), pattern) or fnmatch.fnmatchcase(path, pattern)
    ]
    return {"files": sorted(paths)}, b""


def make_folder(message: Message, _: bytes, __: Moments) -> Result:
    os.makedirs(message["path"], exist_ok=True)
    os.chmod(message["path"], message["mode"])
    return {}, b""


def move(message: Message, _: bytes, __: Moments) -> Result:
    import shutil

    if not os.path.lexists(message["source"]):
        raise FileNotFoundError(2, "No such file or directory", message["source"])
    shutil.move(message["source"], message["destination"])
    return {}, b""


def delete(message: Message, _: bytes, __: Moments) -> Result:
    path = message["path"]
    if os.path.isdir(path) and not os.path.islink(path):
        if not message.get("recursive"):
            raise IsADirectoryError(21, "Is a directory", path)
        import shutil

        shutil.rmtree(path)
    else:
        os.unlink(path)
    return {}, b""


def permit(message: Message, _: bytes, __: Moments) -> Result:
    path = message["path"]
    if message.get("mode") is not None:
        os.chmod(path, message["mode"])
    if message.get("owner") or message.get("group"):
        owner = pwd.getpwnam(message["owner"]).pw_uid if message.get("owner") else -1
        group = grp.getgrnam(message["group"]).gr_gid if message.get("group") else -1
        os.chown(path, owner, group)
    return {}, b""


def _walk(
    root: str,
    without: set[str],
    *,
    folders: bool = False,
    locked: list[tuple[str, int]] | None = None,
    take: Callable[[str], bool] | None = None,
) -> Iterator[tuple[str, str, os.stat_result]]:
    """(path, full path, status) in the order of names; links are listed, never followed.

    `take` says whether a folder is entered.

    What goes while it is listed, or lies deeper than a path can say, is left out. With `locked`, folders that their
    owner locked are unlocked, and noted there with their modes.
    """
    stack = [""]
    while stack:
        inside = stack.pop()
        for entry in _list(f"{root}/{inside}" if inside else root, locked):
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.name in without:
                continue
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if is_folder and (take is None or take(path)):
                stack.append(path)
            if folders or not is_folder:
                yield path, entry.path, status


def _list(folder: str, locked: list[tuple[str, int]] | None) -> list[os.DirEntry[str]]:
    try:
        if locked is not None and (mode := os.lstat(folder).st_mode) & _OPEN_FOLDER != _OPEN_FOLDER:
            os.chmod(folder, mode & 0o777 | _OPEN_FOLDER)
            locked.append((folder, mode & 0o7777))
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _content(path: str) -> bytes | None:
    """None for what is no file, is too large, or is gone again; a file that its owner locked is read all the same."""
    try:
        descriptor = _open_locked(path)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        return file.read(_LARGEST)


def _open_locked(path: str) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags)
    except PermissionError:
        mode = os.lstat(path).st_mode & 0o7777
        os.chmod(path, mode | 0o400)
        try:
            return os.open(path, flags)
        finally:
            os.chmod(path, mode)


def _describe(path: str, moments: Moments) -> Message:
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
        "modified_ms": _date_ms(status.st_mtime_ns, moments),
    }


def _date_ms(nanoseconds: int, moments: Moments) -> int:
    """A file that was laid out keeps its date; one that was written since has the host's time of the request.

    Folders of a tree, which are made before the first request that carries a time, have the time of that request.
    """
    import bisect

    index = bisect.bisect_right(moments, (nanoseconds, 1 << 62)) - 1
    return nanoseconds // 10**6 if index < 0 else moments[min(max(index, 1), len(moments) - 1)][1]


def _name(lookup: Callable[[int], tuple[Any, ...]], number: int) -> str:
    try:
        return str(lookup(number)[0])
    except KeyError:
        return str(number)


ACTIONS: dict[str, Callable[[Message, bytes, Moments], Result]] = {
    "put": put,
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
