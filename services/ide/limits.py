"""What one sandbox may use."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that the kernel or the host keeps, whatever runs inside."""

    processes: int = 256
    # Of one process; all together are measured from outside and ended above `memory`.
    address_space: int = 4096 * MIB
    memory: int = 1024 * MIB
    file_size: int = 128 * MIB
    home: int = 256 * MIB
    scratch: int = 128 * MIB
    shared: int = 32 * MIB
    descriptors: int = 1024
    cpu_seconds: int = 120
    wall_seconds: float = 120.0
    # Of a program beside its own sandbox's guest; and of a sandbox beside the services, where sessions have shares. The
    # latter is the milder: whoever submits waits for programs in sandboxes.
    nice: int = 10
    nice_share: int = 5

    def inside(self) -> dict[str, int]:
        """As names of resource limits."""
        return {
            "NPROC": self.processes,
            "AS": self.address_space,
            "FSIZE": self.file_size,
            "NOFILE": self.descriptors,
            "CORE": 0,
        }
