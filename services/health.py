"""Is the service of this container well? Nothing but a socket: it starts every few seconds, beside the work."""

import socket
import sys
from pathlib import Path

# Where the service's start left its address, for this other process to find.
NOTE = Path("/tmp/health-address")  # noqa: S108 - a container's own /tmp
_SECONDS = 4.0


def is_well(note: Path = NOTE) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", int(note.read_text())), timeout=_SECONDS) as asked:
            asked.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            return asked.makefile("rb").readline().split()[1:2] == [b"200"]
    except (OSError, ValueError):
        return False


if __name__ == "__main__":
    sys.exit(0 if is_well() else 1)
