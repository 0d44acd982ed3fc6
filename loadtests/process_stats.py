"""CPU, memory and open files of processes on this machine, read from /proc."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessStats:
    """CPU, memory and open files of some processes at one moment."""

    cpu_seconds: float
    memory_mb: float
    # All open descriptors except for memory files; and how many of them are connections.
    open_files: int
    connections: int = 0
    # CPU seconds, and memory, of each service and of all sandboxes together.
    by_name: dict[str, float] = field(default_factory=dict)
    memory_by_name: dict[str, float] = field(default_factory=dict)


def read_stats(pids: Iterable[int]) -> ProcessStats:
    """Read them now; a process that ends meanwhile is left out."""
    files = connections = 0
    cpu: dict[str, float] = {}
    memory: dict[str, float] = {}
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            name = service_name(command_line(pid))
            cpu[name] = cpu.get(name, 0.0) + cpu_seconds(pid)
            memory[name] = memory.get(name, 0.0) + proportional_mb(pid)
            opened = [_target_of(descriptor) for descriptor in (_PROC / str(pid) / "fd").iterdir()]
            # A memory file counts as memory: it is neither a file nor a connection.
            files += sum(not what.startswith("/memfd:") for what in opened)
            connections += sum(what.startswith("socket:") for what in opened)
    return ProcessStats(sum(cpu.values()), sum(memory.values()), files, connections, cpu, memory)


def _target_of(descriptor: Path) -> str:
    """Return what a descriptor refers to; nothing where it was closed meanwhile."""
    with suppress(OSError):
        return str(descriptor.readlink())
    return ""


def service_name(command: str) -> str:
    """Return the service of a command: `python -m services crm` is crm; what the IDE runs for agents is sandboxes."""
    words = command.split()
    if "services" in words:
        return words[words.index("services") + 1]
    if "services.control.relay_process" in words:
        return "relay"
    store = next((store for store in ("postgres", "redis") if words and store in words[0]), None)
    return store or ("sandboxes" if words else "?")


def cpu_seconds(pid: int) -> float:
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float:
    """Return the busy time of all cores, including processes that start and end between two readings."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + softirq) / _TICKS


def proportional_mb(pid: int) -> float:
    """Return the memory of a process; a page that several processes share counts once in their sum."""
    for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def process_tree(pid: int) -> list[int]:
    """Return the process and all its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    tree, ahead = [], [pid]
    while ahead:
        process = ahead.pop()
        tree.append(process)
        ahead += parents.get(process, [])
    return tree


def command_line(pid: int) -> str:
    with suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""
