"""As much of a WebSocket client as measuring a peer needs: text frames, one question and one answer at a time."""

import asyncio
import base64
import json
import os
import struct
from typing import Any


class Socket:
    """One open WebSocket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int, path: str) -> "Socket":
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            f"sec-websocket-key: {key}\r\nsec-websocket-version: 13\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"no WebSocket at {path}: {head[:80]!r}")
        return cls(reader, writer)

    async def call(self, message: object) -> Any:
        payload = json.dumps(message).encode()
        mask = os.urandom(4)
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0xFE]) + struct.pack(">H", len(payload))
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        self._writer.write(b"\x81" + size + mask + masked)
        return json.loads(await self._frame())

    def close(self) -> None:
        self._writer.close()

    async def _frame(self) -> bytes:
        while True:
            first, second = await self._reader.readexactly(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", await self._reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", await self._reader.readexactly(8))
            payload = await self._reader.readexactly(size)
            if first & 0x0F == 1:
                return payload
