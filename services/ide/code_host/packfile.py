"""Git's pack files: all objects of a repository in one file."""

import hashlib
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

COMMIT, TREE, BLOB, TAG = 1, 2, 3, 4
_OFFSET_DELTA, _REF_DELTA = 6, 7
_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}
_ONE_READ = 4096
Sha = bytes


@dataclass(frozen=True, slots=True)
class Object:
    """A commit, tree, blob or tag."""

    kind: int
    content: bytes

    @property
    def sha(self) -> Sha:
        head = b"%s %d\0" % (_NAMES[self.kind], len(self.content))
        return hashlib.sha1(head + self.content).digest()  # noqa: S324 - git's own name for it


@dataclass(frozen=True, slots=True)
class Pack:
    """All objects as git stores them, and the index of their positions."""

    name: str
    content: bytes
    index: bytes

    @classmethod
    def of(cls, objects: Mapping[Sha, Object]) -> "Pack":
        """The name depends on the objects alone, not on how zlib of this machine compresses them."""
        body = [struct.pack(">4sII", b"PACK", 2, len(objects))]
        position, places = len(body[0]), {}
        for sha in sorted(objects):
            kind, content = objects[sha].kind, objects[sha].content
            packed = _header(kind, len(content)) + zlib.compress(content, 1)
            places[sha] = (position, zlib.crc32(packed))
            body.append(packed)
            position += len(packed)
        whole = append_checksum(b"".join(body))
        name = hashlib.sha1(b"".join(places)).hexdigest()  # noqa: S324 - as git named packs for long
        return cls(name, whole, append_checksum(_index(places) + whole[-20:]))


def unpack(pack: bytes) -> list[Object]:
    objects: dict[int, Object] = {}
    by_name: dict[Sha, Object] = {}
    # A delta may come before the object that it differs from.
    deltas: list[tuple[int, int | Sha, bytes]] = []
    for start, kind, base, content in _entries(pack):
        if base is None:
            objects[start] = Object(kind, content)
            by_name[objects[start].sha] = objects[start]
        else:
            deltas.append((start, base, content))
    while deltas:
        pending = []
        for start, base, content in deltas:
            origin = objects.get(base) if isinstance(base, int) else by_name.get(base)
            if origin is None:
                pending.append((start, base, content))
                continue
            objects[start] = Object(origin.kind, _apply_delta(content, origin.content))
            by_name[objects[start].sha] = objects[start]
        if len(pending) == len(deltas):
            raise ValueError("the pack holds deltas of objects that it does not hold")
        deltas = pending
    return list(objects.values())


def _entries(pack: bytes) -> Iterator[tuple[int, int, int | Sha | None, bytes]]:
    """(position, kind, the object that it is a delta of, content) of each."""
    view, position = memoryview(pack), 12
    for _ in range(int.from_bytes(pack[8:12], "big")):
        start, kind = position, (pack[position] >> 4) & 7
        position = _skip_size(pack, position)
        base: int | Sha | None = None
        if kind == _OFFSET_DELTA:
            back = pack[position] & 0x7F
            while pack[position] & 0x80:
                position += 1
                back = ((back + 1) << 7) | (pack[position] & 0x7F)
            position += 1
            base = start - back
        elif kind == _REF_DELTA:
            base, position = pack[position : position + 20], position + 20
        content, position = _inflate(view, position)
        yield start, kind, base, content


def _inflate(view: memoryview, position: int) -> tuple[bytes, int]:
    """The content, and the position after it."""
    stream, content = zlib.decompressobj(), []
    while not stream.eof:
        part = view[position : position + _ONE_READ]
        content.append(stream.decompress(part))
        position += len(part)
    return b"".join(content), position - len(stream.unused_data)


def _apply_delta(delta: bytes, base: bytes) -> bytes:
    """A delta is a list of copies from the base and of insertions."""
    position = _skip_size(delta, _skip_size(delta, 0))
    parts: list[bytes] = []
    while position < len(delta):
        instruction = delta[position]
        position += 1
        if not instruction & 0x80:
            parts.append(delta[position : position + instruction])
            position += instruction
            continue
        offset = size = 0
        for bit in range(7):
            if instruction & (1 << bit):
                if bit < 4:
                    offset |= delta[position] << (8 * bit)
                else:
                    size |= delta[position] << (8 * (bit - 4))
                position += 1
        parts.append(base[offset : offset + (size or 0x10000)])
    return b"".join(parts)


def _skip_size(content: bytes, position: int) -> int:
    """In a size, all bytes but the last have their highest bit set."""
    while content[position] & 0x80:
        position += 1
    return position + 1


def _index(places: Mapping[Sha, tuple[int, int]]) -> bytes:
    """Version 2: how many names start with at most each byte, names, checksums, positions; sorted by name."""
    starts = [0] * 256
    for sha in places:
        starts[sha[0]] += 1
    counts, total = [], 0
    for count in starts:
        total += count
        counts.append(total)
    checksums = [checksum for _, checksum in places.values()]
    positions = [position for position, _ in places.values()]
    numbers = struct.pack(f">{256}I", *counts), struct.pack(f">{2 * len(places)}I", *checksums, *positions)
    return b"\xfftOc\0\0\0\x02" + numbers[0] + b"".join(places) + numbers[1]


def _header(kind: int, size: int) -> bytes:
    first, size = (kind << 4) | (size & 15), size >> 4
    header = bytearray()
    while size:
        header.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    header.append(first)
    return bytes(header)


def append_checksum(content: bytes) -> bytes:
    return content + hashlib.sha1(content).digest()  # noqa: S324 - git's own checksum
