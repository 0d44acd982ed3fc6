"""A repository's history as git keeps it: read from a bundle, some of it exchanged, written as one pack.

Without git and without a sandbox: what is read here is the world's own, and an opening waits for it.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from services.ide.packs import BLOB, COMMIT, TAG, TREE, Object, Pack, Sha, summed, unpacked

_FOLDER, _SUBMODULE = 0o040000, 0o160000
_SIGNATURE = b"-----BEGIN "


@dataclass(frozen=True, slots=True)
class File:
    """One file of a commit's tree, with everything above it in its path."""

    path: str
    mode: int
    sha: Sha
    content: bytes


class History:
    """Objects by name, and where branches and tags stand."""

    def __init__(self, objects: Mapping[Sha, Object], refs: Mapping[str, Sha]) -> None:
        self.objects = dict(objects)
        self.refs = dict(refs)

    @classmethod
    def read(cls, bundle: bytes) -> "History":
        head, _, pack = bundle.partition(b"\n\n")
        refs = {}
        for line in head.decode().splitlines()[1:]:
            sha, _, name = line.partition(" ")
            if name.startswith("refs/"):
                refs[name] = bytes.fromhex(sha)
        return cls({one.sha: one for one in unpacked(pack)}, refs)

    # --- as if it had always been so ------------------------------------------------------------------------------

    def exchanged(self, blobs: Mapping[bytes, bytes]) -> "History":
        """With other contents in all commits that have these; what no branch or tag leads to is left out."""
        moved: dict[Sha, Sha] = {}
        objects: dict[Sha, Object] = {}
        ahead = list(self.refs.values())
        while ahead:
            sha = ahead[-1]
            waiting = [one for one in _named_by(self.objects[sha]) if one not in moved] if sha not in moved else []
            ahead += waiting
            if waiting:
                continue
            ahead.pop()
            if sha not in moved:
                one = _with_names(self.objects[sha], moved, blobs)
                moved[sha] = one.sha
                objects[moved[sha]] = one
        return History(objects, {name: moved[sha] for name, sha in self.refs.items()})

    def amended(self, branch: str, files: Mapping[str, bytes | None]) -> "History":
        """Files that are new, or gone, in the last commit of a branch, which keeps all else."""
        made = History(self.objects, self.refs)
        tip = made.objects[made.refs[f"refs/heads/{branch}"]]
        tree = made._edited(_tree_of(tip), {tuple(path.split("/")): content for path, content in files.items()})
        commit = Object(COMMIT, b"tree %s" % tree.hex().encode() + tip.content[tip.content.index(b"\n") :])
        made.refs[f"refs/heads/{branch}"] = made._add(commit)
        return made.exchanged({})

    def _edited(self, tree: Sha | None, files: Mapping[tuple[str, ...], bytes | None]) -> Sha:
        entries = {} if tree is None else {name: (mode, sha) for mode, name, sha in _entries(self.objects[tree])}
        below: dict[str, dict[tuple[str, ...], bytes | None]] = {}
        for (first, *rest), content in files.items():
            if rest:
                below.setdefault(first, {})[tuple(rest)] = content
            elif content is None:
                entries.pop(first.encode(), None)
            else:
                entries[first.encode()] = (0o100644, self._add(Object(BLOB, content)))
        for name, inner in below.items():
            mode, sha = entries.get(name.encode(), (_FOLDER, None))
            entries[name.encode()] = (_FOLDER, self._edited(sha if mode == _FOLDER else None, inner))
            if not self.objects[entries[name.encode()][1]].content:
                del entries[name.encode()]
        # Git orders a folder as if its name ended in a slash.
        ordered = sorted(entries.items(), key=lambda entry: entry[0] + b"/" * (entry[1][0] == _FOLDER))
        return self._add(Object(TREE, b"".join(b"%o %s\0%s" % (mode, name, sha) for name, (mode, sha) in ordered)))

    def _add(self, one: Object) -> Sha:
        self.objects[one.sha] = one
        return one.sha

    # --- what it holds --------------------------------------------------------------------------------------------

    def files(self, branch: str) -> list[File]:
        """Of a branch's last commit, in the order of git's index."""
        tip = self.objects[self.refs[f"refs/heads/{branch}"]]
        return sorted(self._below(_tree_of(tip), ""), key=lambda file: file.path.encode())

    def _below(self, tree: Sha, prefix: str) -> Iterator[File]:
        for mode, name, sha in _entries(self.objects[tree]):
            path = prefix + name.decode(errors="surrogateescape")
            if mode == _FOLDER:
                yield from self._below(sha, f"{path}/")
            elif mode != _SUBMODULE:
                yield File(path, mode, sha, self.objects[sha].content)

    def peeled(self, sha: Sha) -> Sha:
        """What a tag stands for in the end."""
        while self.objects[sha].kind == TAG:
            sha = bytes.fromhex(self.objects[sha].content[7:47].decode())
        return sha

    def pack(self) -> Pack:
        return Pack.of(self.objects)


def git_index(files: Iterable[File], seconds: int) -> bytes:
    """The working tree as git last saw it, of files with this date: it then need not read them to find no change."""
    entries = []
    for file in files:
        path = file.path.encode(errors="surrogateescape")
        dated = (0, 0, seconds, 0, 0, 0, file.mode, 0, 0, len(file.content))
        head = struct.pack(">10I20sH", *dated, file.sha, min(len(path), 0xFFF))
        entries.append(head + path + b"\0" * (8 - (len(head) + len(path)) % 8))
    return summed(struct.pack(">4sII", b"DIRC", 2, len(entries)) + b"".join(entries))


def _named_by(one: Object) -> list[Sha]:
    """What must be there with it."""
    if one.kind == TREE:
        return [sha for mode, _, sha in _entries(one) if mode != _SUBMODULE]
    if one.kind == BLOB:
        return []
    return [bytes.fromhex(value.decode()) for name, value in _headers(one) if name in (b"tree", b"parent", b"object")]


def _with_names(one: Object, moved: Mapping[Sha, Sha], blobs: Mapping[bytes, bytes]) -> Object:
    if one.kind == BLOB:
        return Object(BLOB, blobs.get(one.content, one.content))
    if one.kind == TREE:
        entries = (b"%o %s\0%s" % (mode, name, moved.get(sha, sha)) for mode, name, sha in _entries(one))
        return Object(TREE, b"".join(entries))
    if all(moved[sha] == sha for sha in _named_by(one)):
        return one
    return Object(one.kind, _unsigned(one, moved))


def _unsigned(one: Object, moved: Mapping[Sha, Sha]) -> bytes:
    """Of what says something else now no signature holds."""
    head, _, message = one.content.partition(b"\n\n")
    lines = []
    signing = False
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        signing = name.startswith(b"gpgsig") or (signing and not name)
        if signing:
            continue
        named = name in (b"tree", b"parent", b"object")
        lines.append(b"%s %s" % (name, moved[bytes.fromhex(value.decode())].hex().encode()) if named else line)
    if one.kind == TAG and _SIGNATURE in message:
        message = message[: message.index(_SIGNATURE)]
    return b"\n".join(lines) + b"\n\n" + message


def _headers(one: Object) -> Iterator[tuple[bytes, bytes]]:
    for line in one.content.partition(b"\n\n")[0].split(b"\n"):
        name, _, value = line.partition(b" ")
        yield name, value


def _entries(tree: Object) -> Iterator[tuple[int, bytes, Sha]]:
    content, at = tree.content, 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        yield int(mode, 8), name, content[end + 1 : end + 21]
        at = end + 21


def _tree_of(commit: Object) -> Sha:
    return bytes.fromhex(commit.content[5:45].decode())
