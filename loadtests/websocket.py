"""As much of a WebSocket client as measuring a peer needs: text frames, one question and one answer at a time.

A frame is written once and sent often, so that the client takes little of the machine that the server is measured on.
"""

import asyncio
import base64
import os
import struct
from typing import Any, cast

import orjson

_TEXT = 1
_END_OF_HEAD = b"\r\n\r\n"


def encode_frame(message: object) -> bytes:
    """A client's text frame. Clients must mask what they send; a mask of zeros leaves the text as it is."""
    payload = orjson.dumps(message)
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
    return bytes([0x80 | _TEXT]) + size + bytes(4) + payload


class Socket(asyncio.Protocol):
    """One open WebSocket."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._is_open = False
        self._waiting: asyncio.Future[bytes] | None = None

    @classmethod
    async def open(cls, port: int, path: str) -> "Socket":
        loop = asyncio.get_running_loop()
        _, socket = await loop.create_connection(cls, "127.0.0.1", port)
        key = base64.b64encode(os.urandom(16)).decode()
        head = await socket.exchange(
            f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            f"sec-websocket-key: {key}\r\nsec-websocket-version: 13\r\n\r\n".encode()
        )
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"no WebSocket at {path}: {head[:80]!r}")
        return socket

    async def exchange(self, frame: bytes) -> bytes:
        """Sends bytes as they are and returns the text that comes back."""
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        return await self._waiting

    async def call(self, message: object) -> Any:
        return orjson.loads(await self.exchange(encode_frame(message)))

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError(f"the server closed the socket: {exc}"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        answer = self._take_text() if self._is_open else self._take_head()
        if answer is not None and self._waiting is not None:
            self._waiting.set_result(answer)

    def _take_head(self) -> bytes | None:
        head, end, rest = self._received.partition(_END_OF_HEAD)
        if not end:
            return None
        self._received, self._is_open = rest, True
        return bytes(head)

    def _take_text(self) -> bytes | None:
        """The text of the next frame that has one, once it is whole; pings are left unanswered."""
        received = self._received
        while len(received) >= 2:
            size, begin = received[1] & 0x7F, 2
            if size == 126:
                size, begin = int.from_bytes(received[2:4]), 4
            elif size == 127:
                size, begin = int.from_bytes(received[2:10]), 10
            if len(received) < begin + size:
                return None
            opcode, payload = received[0] & 0x0F, bytes(received[begin : begin + size])
            del received[: begin + size]
            if opcode == _TEXT:
                return payload
        return None
