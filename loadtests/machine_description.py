"""Describes the machine that a figure was measured on."""

import os
import platform
from pathlib import Path


def describe_machine() -> str:
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return (
        f"{os.cpu_count()} × {cpu}, {memory / 1e6:.0f} GB, {platform.system()} {platform.release()},"
        f" Python {platform.python_version()}"
    )


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
