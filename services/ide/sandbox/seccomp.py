"""A filter that refuses system calls which a programmer does not need and an escape does."""

import platform
import struct

_LOAD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _EPERM, _ENOMEM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x0005000C, 0x00050026
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _FOURTH_ARGUMENT_AT = 0, 4, 16, 40
# Numbers from here on belong to the x32 ABI, another way to make the same calls.
_X32 = 0x40000000

_X86_64 = {
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "pidfd_getfd": 438,
    "bpf": 321,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "fsopen": 430,
    "move_mount": 429,
    "open_tree": 428,
    "setns": 308,
    "unshare": 272,
    "open_by_handle_at": 304,
    "kexec_load": 246,
    "init_module": 175,
    "finit_module": 313,
    "delete_module": 176,
    "io_uring_setup": 425,
    "quotactl": 179,
    "reboot": 169,
    "swapon": 167,
    "shmget": 29,
    "memfd_create": 319,
    "memfd_secret": 447,
}
_AARCH64 = {
    "ptrace": 117,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "pidfd_getfd": 438,
    "bpf": 280,
    "perf_event_open": 241,
    "userfaultfd": 282,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "mount": 40,
    "umount2": 39,
    "pivot_root": 41,
    "fsopen": 430,
    "move_mount": 429,
    "open_tree": 428,
    "setns": 268,
    "unshare": 97,
    "open_by_handle_at": 265,
    "kexec_load": 104,
    "init_module": 105,
    "finit_module": 273,
    "delete_module": 106,
    "io_uring_setup": 425,
    "quotactl": 60,
    "reboot": 142,
    "swapon": 224,
    "shmget": 194,
    "memfd_create": 279,
    "memfd_secret": 447,
}
# (architecture, clone, mmap, refused calls)
_ARCHITECTURES = {"x86_64": (0xC000003E, 56, 9, _X86_64), "aarch64": (0xC00000B7, 220, 222, _AARCH64)}
# clone makes processes and threads, and also namespaces, in which a program would be its own root.
_NAMESPACES = 0x7E020000
# Memory that processes share without a file belongs to none of them: no limit of a process or of a mount counts it.
# Files in /dev/shm serve the same purpose and are counted.
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
# The flags of clone3 lie in memory, where no filter sees them; the C library falls back to clone where it is missing.
_CLONE3 = 435


def build_filter(processor: str = "") -> bytes | None:
    """BPF instructions as bubblewrap takes them; None for a processor whose call numbers are not listed here."""
    numbers = _ARCHITECTURES.get(processor or platform.machine())
    if numbers is None:
        return None
    architecture, clone, mmap, calls = numbers
    body = [
        *(_jump(_JUMP_AT_LEAST, _X32, 0, 1), _instruct(_RETURN, _ENOSYS)),
        *(_jump(_JUMP_EQUAL, _CLONE3, 0, 1), _instruct(_RETURN, _ENOSYS)),
        *(_jump(_JUMP_EQUAL, clone, 0, 3), _instruct(_LOAD_WORD, _FIRST_ARGUMENT_AT)),
        *(_jump(_JUMP_ANY_BIT, _NAMESPACES, 0, 1), _instruct(_RETURN, _EPERM)),
        _instruct(_LOAD_WORD, _NUMBER_AT),
        *(_jump(_JUMP_EQUAL, mmap, 0, 4), _instruct(_LOAD_WORD, _FOURTH_ARGUMENT_AT)),
        *(_jump(_JUMP_ANY_BIT, _MAP_ANONYMOUS, 0, 2), _jump(_JUMP_ANY_BIT, _MAP_SHARED, 0, 1)),
        _instruct(_RETURN, _ENOMEM),
        _instruct(_LOAD_WORD, _NUMBER_AT),
    ]
    for number in sorted(calls.values()):
        body += [_jump(_JUMP_EQUAL, number, 0, 1), _instruct(_RETURN, _EPERM)]
    head = [
        _instruct(_LOAD_WORD, _ARCHITECTURE_AT),
        _jump(_JUMP_EQUAL, architecture, 1, 0),
        _instruct(_RETURN, _ENOSYS),
        _instruct(_LOAD_WORD, _NUMBER_AT),
    ]
    return b"".join((*head, *body, _instruct(_RETURN, _ALLOW)))


def _instruct(code: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
