"""Packs: all objects of a repository in one file, as git reads and writes them."""

import hashlib
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

COMMIT, TREE, BLOB, TAG = 1, 2, 3, 4
_OFFSET_DELTA, _NAMED_DELTA = 6, 7
_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}
_AT_ONCE = 4096
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
    """All objects as git stores them, and the index that finds them."""

    name: str
    content: bytes
    index: bytes

    @classmethod
    def of(cls, objects: Mapping[Sha, Object]) -> "Pack":
        """Named by what is in it: how zlib of this machine compresses it does not show."""
        body = [struct.pack(">4sII", b"PACK", 2, len(objects))]
        at, places = len(body[0]), {}
        for sha in sorted(objects):
            one = objects[sha]
            packed = _header(one.kind, len(one.content)) + zlib.compress(one.content, 1)
            places[sha] = (at, zlib.crc32(packed))
            body.append(packed)
            at += len(packed)
        content = summed(b"".join(body))
        name = hashlib.sha1(b"".join(places)).hexdigest()  # noqa: S324 - as git named packs for long
        return cls(name, content, summed(_index(places) + content[-20:]))


def unpacked(pack: bytes) -> list[Object]:
    found: dict[int, Object] = {}
    by_name: dict[Sha, Object] = {}
    # A difference may come before what it differs from.
    waiting: list[tuple[int, int | Sha, bytes]] = []
    for start, kind, base, content in _packed(pack):
        if base is None:
            found[start] = Object(kind, content)
            by_name[found[start].sha] = found[start]
        else:
            waiting.append((start, base, content))
    while waiting:
        late = []
        for start, base, content in waiting:
            origin = found.get(base) if isinstance(base, int) else by_name.get(base)
            if origin is None:
                late.append((start, base, content))
                continue
            found[start] = Object(origin.kind, _applied(content, origin.content))
            by_name[found[start].sha] = found[start]
        if len(late) == len(waiting):
            raise ValueError("the pack holds differences from what it does not hold")
        waiting = late
    return list(found.values())


def _packed(pack: bytes) -> Iterator[tuple[int, int, int | Sha | None, bytes]]:
    """(where it starts, its kind, what it differs from, its content) of each."""
    view, at = memoryview(pack), 12
    for _ in range(int.from_bytes(pack[8:12], "big")):
        start, kind = at, (pack[at] >> 4) & 7
        while pack[at] & 0x80:
            at += 1
        at += 1
        base: int | Sha | None = None
        if kind == _OFFSET_DELTA:
            back = pack[at] & 0x7F
            while pack[at] & 0x80:
                at += 1
                back = ((back + 1) << 7) | (pack[at] & 0x7F)
            at += 1
            base = start - back
        elif kind == _NAMED_DELTA:
            base, at = pack[at : at + 20], at + 20
        content, at = _inflated(view, at)
        yield start, kind, base, content


def _inflated(view: memoryview, at: int) -> tuple[bytes, int]:
    stream, content = zlib.decompressobj(), []
    while not stream.eof:
        some = view[at : at + _AT_ONCE]
        content.append(stream.decompress(some))
        at += len(some)
    return b"".join(content), at - len(stream.unused_data)


def _applied(delta: bytes, base: bytes) -> bytes:
    """Copies from the base and insertions, one after the other."""
    at = _past_size(delta, _past_size(delta, 0))
    out: list[bytes] = []
    while at < len(delta):
        order = delta[at]
        at += 1
        if not order & 0x80:
            out.append(delta[at : at + order])
            at += order
            continue
        offset = size = 0
        for bit in range(7):
            if order & (1 << bit):
                if bit < 4:
                    offset |= delta[at] << (8 * bit)
                else:
                    size |= delta[at] << (8 * (bit - 4))
                at += 1
        out.append(base[offset : offset + (size or 0x10000)])
    return b"".join(out)


def _past_size(delta: bytes, at: int) -> int:
    while delta[at] & 0x80:
        at += 1
    return at + 1


def _index(places: Mapping[Sha, tuple[int, int]]) -> bytes:
    """Version 2: how many start with at most each byte, names, checksums, places; names come in their order."""
    starts = [0] * 256
    for sha in places:
        starts[sha[0]] += 1
    counts, so_far = [], 0
    for count in starts:
        so_far += count
        counts.append(so_far)
    sums = [checksum for _, checksum in places.values()]
    offsets = [at for at, _ in places.values()]
    numbers = struct.pack(f">{256}I", *counts), struct.pack(f">{2 * len(places)}I", *sums, *offsets)
    return b"\xfftOc\0\0\0\x02" + numbers[0] + b"".join(places) + numbers[1]


def _header(kind: int, size: int) -> bytes:
    first, size = (kind << 4) | (size & 15), size >> 4
    out = bytearray()
    while size:
        out.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    out.append(first)
    return bytes(out)


def summed(content: bytes) -> bytes:
    return content + hashlib.sha1(content).digest()  # noqa: S324 - git's own checksum
