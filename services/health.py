"""The health check of a container. It imports nothing but sockets, because it starts every few seconds."""

import socket
import sys
from pathlib import Path

# Where the start of the service wrote its port.
NOTE = Path("/tmp/health-address")  # noqa: S108 - a container's own /tmp
_SECONDS = 4.0


def is_healthy(note: Path = NOTE) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", int(note.read_text())), timeout=_SECONDS) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            return connection.makefile("rb").readline().split()[1:2] == [b"200"]
    except (OSError, ValueError):
        return False


if __name__ == "__main__":
    sys.exit(0 if is_healthy() else 1)
