"""A repository's history: read from a git bundle, rewritten, and written as one pack.

Without git and without a sandbox: the history comes from the world's own rows, and an opening waits for it.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from services.ide.code_host.packfile import BLOB, COMMIT, TAG, TREE, Object, Pack, Sha, append_checksum, unpack

_FOLDER, _SUBMODULE = 0o040000, 0o160000
_SIGNATURE = b"-----BEGIN "
# Headers of commits and tags that name other objects.
_REFERENCES = (b"tree", b"parent", b"object")


@dataclass(frozen=True, slots=True)
class File:
    """One file of a commit's tree."""

    path: str
    mode: int
    sha: Sha
    content: bytes


class History:
    """Objects by name, and the objects that branches and tags name."""

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
        return cls({item.sha: item for item in unpack(pack)}, refs)

    # --- rewriting ------------------------------------------------------------------------------------------------

    def replace_blobs(self, contents: Mapping[bytes, bytes]) -> "History":
        """A history with other contents in all commits that have these, and only what branches and tags lead to."""
        new_names: dict[Sha, Sha] = {}
        objects: dict[Sha, Object] = {}
        stack = list(self.refs.values())
        while stack:
            sha = stack[-1]
            missing = (
                [] if sha in new_names else [name for name in _references(self.objects[sha]) if name not in new_names]
            )
            stack += missing
            if missing:
                continue
            stack.pop()
            if sha not in new_names:
                rewritten = _rewrite(self.objects[sha], new_names, contents)
                new_names[sha] = rewritten.sha
                objects[new_names[sha]] = rewritten
        return History(objects, {name: new_names[sha] for name, sha in self.refs.items()})

    def amend(self, branch: str, files: Mapping[str, bytes | None]) -> "History":
        """A history in which the last commit of a branch adds these files, or removes those without content."""
        history = History(self.objects, self.refs)
        tip = history.objects[history.refs[f"refs/heads/{branch}"]]
        tree = history._edit_tree(_tree_of(tip), {tuple(path.split("/")): content for path, content in files.items()})
        commit = Object(COMMIT, b"tree %s" % tree.hex().encode() + tip.content[tip.content.index(b"\n") :])
        history.refs[f"refs/heads/{branch}"] = history._add(commit)
        return history.replace_blobs({})

    def _edit_tree(self, tree: Sha | None, files: Mapping[tuple[str, ...], bytes | None]) -> Sha:
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
            entries[name.encode()] = (_FOLDER, self._edit_tree(sha if mode == _FOLDER else None, inner))
            if not self.objects[entries[name.encode()][1]].content:
                del entries[name.encode()]
        # Git orders a folder as if its name ended in a slash.
        ordered = sorted(entries.items(), key=lambda entry: entry[0] + b"/" * (entry[1][0] == _FOLDER))
        return self._add(Object(TREE, b"".join(b"%o %s\0%s" % (mode, name, sha) for name, (mode, sha) in ordered)))

    def _add(self, item: Object) -> Sha:
        self.objects[item.sha] = item
        return item.sha

    # --- reading --------------------------------------------------------------------------------------------------

    def files(self, branch: str) -> list[File]:
        """Of a branch's last commit, in the order of git's index."""
        tip = self.objects[self.refs[f"refs/heads/{branch}"]]
        return sorted(self._files_below(_tree_of(tip), ""), key=lambda file: file.path.encode())

    def _files_below(self, tree: Sha, prefix: str) -> Iterator[File]:
        for mode, name, sha in _entries(self.objects[tree]):
            path = prefix + name.decode(errors="surrogateescape")
            if mode == _FOLDER:
                yield from self._files_below(sha, f"{path}/")
            elif mode != _SUBMODULE:
                yield File(path, mode, sha, self.objects[sha].content)

    def peel(self, sha: Sha) -> Sha:
        """The object that a tag names in the end; any other object itself."""
        while self.objects[sha].kind == TAG:
            sha = bytes.fromhex(self.objects[sha].content[7:47].decode())
        return sha

    def pack(self) -> Pack:
        return Pack.of(self.objects)


def make_index(files: Iterable[File], seconds: int) -> bytes:
    """Git's index of files that have this date: git need not read them to know that they are unchanged."""
    entries = []
    for file in files:
        path = file.path.encode(errors="surrogateescape")
        status = (0, 0, seconds, 0, 0, 0, file.mode, 0, 0, len(file.content))
        head = struct.pack(">10I20sH", *status, file.sha, min(len(path), 0xFFF))
        entries.append(head + path + b"\0" * (8 - (len(head) + len(path)) % 8))
    return append_checksum(struct.pack(">4sII", b"DIRC", 2, len(entries)) + b"".join(entries))


def _references(item: Object) -> list[Sha]:
    """The objects that this one names."""
    if item.kind == TREE:
        return [sha for mode, _, sha in _entries(item) if mode != _SUBMODULE]
    if item.kind == BLOB:
        return []
    return [bytes.fromhex(value.decode()) for name, value in _headers(item) if name in _REFERENCES]


def _rewrite(item: Object, new_names: Mapping[Sha, Sha], contents: Mapping[bytes, bytes]) -> Object:
    if item.kind == BLOB:
        return Object(BLOB, contents.get(item.content, item.content))
    if item.kind == TREE:
        entries = (b"%o %s\0%s" % (mode, name, new_names.get(sha, sha)) for mode, name, sha in _entries(item))
        return Object(TREE, b"".join(entries))
    if all(new_names[sha] == sha for sha in _references(item)):
        return item
    return Object(item.kind, _rewrite_headers(item, new_names))


def _rewrite_headers(item: Object, new_names: Mapping[Sha, Sha]) -> bytes:
    """Without signatures: no signature holds for another content."""
    head, _, message = item.content.partition(b"\n\n")
    lines = []
    in_signature = False
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        in_signature = name.startswith(b"gpgsig") or (in_signature and not name)
        if in_signature:
            continue
        if name in _REFERENCES:
            line = b"%s %s" % (name, new_names[bytes.fromhex(value.decode())].hex().encode())
        lines.append(line)
    if item.kind == TAG and _SIGNATURE in message:
        message = message[: message.index(_SIGNATURE)]
    return b"\n".join(lines) + b"\n\n" + message


def _headers(item: Object) -> Iterator[tuple[bytes, bytes]]:
    for line in item.content.partition(b"\n\n")[0].split(b"\n"):
        name, _, value = line.partition(b" ")
        yield name, value


def _entries(tree: Object) -> Iterator[tuple[int, bytes, Sha]]:
    content, position = tree.content, 0
    while position < len(content):
        end = content.index(b"\0", position)
        mode, _, name = content[position:end].partition(b" ")
        yield int(mode, 8), name, content[end + 1 : end + 21]
        position = end + 21


def _tree_of(commit: Object) -> Sha:
    return bytes.fromhex(commit.content[5:45].decode())
