"""Is the service of this container well? The standard library alone: this runs every few seconds."""

import sys
from pathlib import Path
from urllib.request import urlopen

# Where the service's start left its address, for this other process to find.
NOTE = Path("/tmp/health-address")  # noqa: S108 - a container's own /tmp


def is_well(note: Path = NOTE) -> bool:
    try:
        with urlopen(note.read_text(), timeout=4) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(0 if is_well() else 1)
