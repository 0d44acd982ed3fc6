"""Stands where git looks for ssh: joins its standard streams to the socket that leads to the code host."""

import os
import socket
import sys
import threading

_SOCKET = "/run/forge/socket"
_ONE_READ = 1 << 16


def main() -> None:
    """git calls `ssh host "git-upload-pack 'owner/name.git'"`; further arguments before that are for a real ssh."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(_SOCKET)
    except OSError:
        sys.exit("ssh: connect to host: Connection refused")
    connection.sendall(sys.argv[-1].replace("\n", " ").encode() + b"\n")
    threading.Thread(target=_send_input, args=(connection,), daemon=True).start()
    while received := connection.recv(_ONE_READ):
        os.write(1, received)


def _send_input(connection: socket.socket) -> None:
    while content := os.read(0, _ONE_READ):
        connection.sendall(content)
    connection.shutdown(socket.SHUT_WR)


main()
