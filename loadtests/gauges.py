"""CPU, memory and open files of processes on this machine, read from /proc."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Gauge:
    """A look at some processes at one moment."""

    cpu_seconds: float
    memory_mb: float
    # Everything that a process has open but memory; of that, connections.
    open_files: int
    connections: int = 0
    # CPU seconds, and memory, of each service and of all sandboxes together.
    by_name: dict[str, float] = field(default_factory=dict)
    memory_by_name: dict[str, float] = field(default_factory=dict)


def look(pids: Iterable[int]) -> Gauge:
    """A process that ends while one looks counts nothing."""
    files = connections = 0
    cpu: dict[str, float] = {}
    memory: dict[str, float] = {}
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            name = name_of(command_of(pid))
            cpu[name] = cpu.get(name, 0.0) + cpu_seconds(pid)
            memory[name] = memory.get(name, 0.0) + proportional_mb(pid)
            opened = [_what(descriptor) for descriptor in (_PROC / str(pid) / "fd").iterdir()]
            # Memory is bytes that are kept, and bounded as such: no file and no connection.
            files += sum(not what.startswith("/memfd:") for what in opened)
            connections += sum(what.startswith("socket:") for what in opened)
    return Gauge(sum(cpu.values()), sum(memory.values()), files, connections, cpu, memory)


def _what(descriptor: Path) -> str:
    """Nothing known of one that is closed while one looks."""
    with suppress(OSError):
        return str(descriptor.readlink())
    return ""


def name_of(command: str) -> str:
    """`python -m services crm` is crm; what the IDE runs for agents are sandboxes, however many there are."""
    words = command.split()
    if "services" in words:
        return words[words.index("services") + 1]
    if "services.control.passage" in words:
        return "relay"
    store = next((store for store in ("postgres", "redis") if words and store in words[0]), None)
    return store or ("sandboxes" if words else "?")


def cpu_seconds(pid: int) -> float:
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float:
    """Of all cores and everybody on them, programs that come and go between two looks included."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + softirq) / _TICKS


def proportional_mb(pid: int) -> float:
    """Pages shared by several processes count once in the sum, not once in each."""
    for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def family_of(pid: int) -> list[int]:
    """The process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found, ahead = [], [pid]
    while ahead:
        one = ahead.pop()
        found.append(one)
        ahead += parents.get(one, [])
    return found


def command_of(pid: int) -> str:
    with suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""
