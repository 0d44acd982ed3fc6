"""What one sandbox may use."""

from dataclasses import dataclass

from services.kernel.sizes import MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that the kernel or the host enforces, whatever runs inside."""

    processes: int = 256
    # Of one process; the memory of all processes together is measured from outside and bounded by `memory`.
    address_space: int = 4096 * MIB
    memory: int = 1024 * MIB
    file_size: int = 128 * MIB
    home: int = 256 * MIB
    scratch: int = 128 * MIB
    shared: int = 32 * MIB
    # Files and folders of all mounts together: each takes about a kilobyte of the kernel's memory, empty or not.
    inodes: int = 200_000
    descriptors: int = 1024
    cpu_seconds: int = 120
    wall_seconds: float = 120.0
    # Niceness of a program beside its own sandbox's guest; and of a sandbox beside the services, where the kernel
    # shares the machine out by session. The latter is the milder one: a submission waits for programs in sandboxes.
    nice: int = 10
    nice_share: int = 5

    def resource_limits(self) -> dict[str, int]:
        """Values by the names of the operating system, without the prefix RLIMIT_."""
        return {
            "NPROC": self.processes,
            "AS": self.address_space,
            "FSIZE": self.file_size,
            "NOFILE": self.descriptors,
            "CORE": 0,
        }
