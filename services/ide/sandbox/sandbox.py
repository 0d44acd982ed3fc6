"""One sandbox seen from the service. All requests to it cross one channel, as frames."""

import asyncio
import itertools
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import orjson

_HEAD = struct.Struct(">II")
# A guest that is silent this long after a request to kill something is given up.
_GRACE_SECONDS = 5.0
_REPLY_SECONDS = 30.0
_LARGEST_FRAME = 256 << 20

Operation = Literal[
    "run",
    "kill",
    "kill_all",
    "file",
    "listen",
    "stream_open",
    "stream_data",
    "stream_close",
    "terminal_open",
    "terminal_resize",
    "terminal_close",
    "session_open",
    "session_run",
    "session_input",
    "session_interrupt",
    "session_close",
    "session_list",
    "session_logs",
]
FileAction = Literal[
    "put", "scan", "read", "write", "unzip", "info", "list", "glob", "make_folder", "move", "delete", "permit"
]
# Takes what a stream carries, and None at its end.
StreamHandler = Callable[[bytes | None], None]
# Takes the number of a connection that a program inside opened, and the first line that it sent.
ConnectionHandler = Callable[[int, str], Awaitable[None]]


class SandboxLost(RuntimeError):
    """The sandbox is gone or does not answer: an environment error, never the agent's gain."""


class GuestRefused(Exception):
    """The operating system inside refused a request, in its own words."""

    def __init__(self, kind: str, message: str, path: str | None) -> None:
        super().__init__(message)
        self.kind = kind
        self.path = path


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended, and its output."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")

    @property
    def error_text(self) -> str:
        return self.stderr.decode(errors="replace")


class Connection(Protocol):
    """Carries bytes to a guest; whoever made it also knows how to end the guest."""

    def write(self, content: bytes) -> None: ...

    def end(self) -> None: ...

    def process_ids(self) -> list[int]:
        """Of the host's numbering, for measuring; empty where the engine measures by itself."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One frame from the guest."""

    head: dict[str, Any]
    blob: bytes


class Sandbox:
    """Sends requests to a guest, and awaits its replies."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._inbox = bytearray()
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Reply]] = {}
        self._streams: dict[int, StreamHandler] = {}
        self._on_connection: ConnectionHandler | None = None
        self._handlers: set[asyncio.Task[None]] = set()
        self.ready: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[0] = self.ready
        # Why it ended; None while it lives.
        self.end_reason: str | None = None
        # Carries descriptors, where guest and host share a kernel.
        self.descriptor_socket: socket.socket | None = None
        # How many programs run that somebody waits for.
        self.busy = 0
        # Set when everything in it was killed for using too much memory.
        self.exceeded_memory = False

    # --- the connection's side ----------------------------------------------------------------------------------

    def connect(self, connection: Connection) -> None:
        self._connection = connection

    def receive(self, content: bytes) -> None:
        self._inbox += content
        position = 0
        while len(self._inbox) - position >= _HEAD.size:
            text, blob = _HEAD.unpack_from(self._inbox, position)
            if text + blob > _LARGEST_FRAME:
                self.lose("it sent a frame that is too large")
                return
            start = position + _HEAD.size
            end = start + text + blob
            if len(self._inbox) < end:
                break
            head = orjson.loads(self._inbox[start : start + text])
            self._deliver(Reply(head, bytes(self._inbox[start + text : end])))
            position = end
        del self._inbox[:position]

    def lose(self, reason: str) -> None:
        """End the sandbox; everybody who waits for a reply learns that none will come."""
        if self.end_reason is not None:
            return
        self.end_reason = reason
        for future in self._pending.values():
            if not future.done():
                future.set_exception(SandboxLost(reason))
                # Nobody may be waiting for it any more; that is no reason for a warning at exit.
                future.exception()
        for handle in list(self._streams.values()):
            handle(None)
        self._pending.clear()
        self._streams.clear()
        # Breaks the cycle with the workspace: what an episode held is free when it ends, not at some collection.
        self._on_connection = None
        if self._connection is not None:
            self._connection.end()
            self._connection = None
        if self.descriptor_socket is not None:
            self.descriptor_socket.close()

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    def end(self) -> None:
        self.lose("closed")

    def process_ids(self) -> list[int]:
        return [] if self._connection is None else self._connection.process_ids()

    def _deliver(self, reply: Reply) -> None:
        number = reply.head["id"]
        if "connection" in reply.head and self._on_connection is not None:
            self._streams[number] = _ignore
            handling = self._handle_connection(number, reply.head["connection"])
            task = asyncio.get_running_loop().create_task(handling)
            self._handlers.add(task)
            task.add_done_callback(self._handlers.discard)
        elif "open" in reply.head:
            handle = self._streams.get(number, _ignore)
            handle(reply.blob if reply.head["open"] else None)
        elif (future := self._pending.pop(number, None)) is not None and not future.done():
            future.set_result(reply)

    async def _handle_connection(self, number: int, first_line: str) -> None:
        if self._on_connection is not None:
            await self._on_connection(number, first_line)

    # --- requests -----------------------------------------------------------------------------------------------

    async def request(
        self, operation: Operation, blob: bytes = b"", seconds: float = _REPLY_SECONDS, **arguments: Any
    ) -> Reply:
        """A guest that does not reply in time is given up with its sandbox."""
        number, future = self._post(operation, blob, arguments)
        try:
            async with asyncio.timeout(seconds):
                return _require_success(await future)
        except TimeoutError:
            self.lose(f"no answer to {operation} in {seconds:g} s")
            raise SandboxLost(f"no answer to {operation} in {seconds:g} s") from None
        finally:
            self._pending.pop(number, None)

    async def request_within(self, operation: Operation, blob: bytes, seconds: float, **arguments: Any) -> Reply | None:
        """Like `request`, for what may take long: returns None when the time is over, and the guest goes on."""
        number, future = self._post(operation, blob, arguments)
        self.busy += 1
        try:
            async with asyncio.timeout(seconds):
                return _require_success(await future)
        except TimeoutError:
            return None
        finally:
            self.busy -= 1
            self._pending.pop(number, None)

    async def request_file(self, action: FileAction, blob: bytes = b"", **arguments: Any) -> Reply:
        return await self.request("file", blob, action=action, **arguments)

    async def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        merged: bool = False,
        now_ms: int = 0,
    ) -> ProcessResult:
        """Run one program; it is killed after `seconds` by the host's clock. `merged`: one stream for both outputs."""
        arguments = {"argv": list(argv), "cwd": cwd, "env": dict(env or {}), "merged": merged, "now": now_ms}
        number, future = self._post("run", stdin, arguments)
        timed_out = False
        self.busy += 1
        try:
            try:
                async with asyncio.timeout(seconds):
                    reply = await asyncio.shield(future)
            except TimeoutError:
                timed_out = True
                await self.request("kill", target=number, seconds=_GRACE_SECONDS)
                reply = await self._await_killed(future)
        finally:
            self.busy -= 1
            self._pending.pop(number, None)
        _require_success(reply)
        length = reply.head["out"]
        return ProcessResult(reply.head["exit"], reply.blob[:length], reply.blob[length:], timed_out)

    async def _await_killed(self, future: asyncio.Future[Reply]) -> Reply:
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                return await future
        except TimeoutError:
            self.lose("a killed program did not end")
            raise SandboxLost("a killed program did not end") from None

    async def kill_everything(self) -> None:
        await self.request("kill_all", seconds=_GRACE_SECONDS)

    def send_descriptor(self, descriptor: int) -> None:
        """The next request says what the guest is to do with it."""
        if self.descriptor_socket is None or self.end_reason is not None:
            raise SandboxLost(self.end_reason or "this sandbox takes no descriptors")
        socket.send_fds(self.descriptor_socket, [b"."], [descriptor])

    # --- streams ------------------------------------------------------------------------------------------------

    def set_connection_handler(self, handler: ConnectionHandler) -> None:
        """Called when a program inside connects to the only socket that leads out."""
        self._on_connection = handler

    def open_stream(self, argv: Sequence[str], handler: StreamHandler, **arguments: Any) -> int:
        """Start a program whose standard input and output are on this side; returns the stream's number."""
        number = next(self._numbers)
        self._streams[number] = handler
        self._send("stream_open", {"id": number, "argv": list(argv), **arguments}, b"")
        return number

    def open_terminal(
        self, argv: Sequence[str], handler: StreamHandler, **arguments: Any
    ) -> tuple[int, asyncio.Future[Reply]]:
        """Start a program on a terminal; the stream's number, and the reply with its exit code when it ends.

        The handler takes an empty text when the program has started.
        """
        number, future = self._post("terminal_open", b"", {"argv": list(argv), **arguments})
        self._streams[number] = handler
        return number, future

    def set_stream_handler(self, number: int, handler: StreamHandler) -> None:
        self._streams[number] = handler

    def write_stream(self, number: int, content: bytes | None) -> None:
        """None closes the program's input."""
        self._send("stream_data", {"id": 0, "to": number, "end": content is None}, content or b"")

    def close_stream(self, number: int) -> None:
        self._streams.pop(number, None)
        if self.end_reason is None:
            self._send("stream_close", {"id": 0, "to": number}, b"")

    def _post(
        self, operation: Operation, blob: bytes, arguments: Mapping[str, Any]
    ) -> tuple[int, asyncio.Future[Reply]]:
        number = next(self._numbers)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        self._send(operation, {"id": number, **arguments}, blob)
        return number, future

    def _send(self, operation: Operation, head: Mapping[str, Any], blob: bytes) -> None:
        if self._connection is None:
            raise SandboxLost(self.end_reason or "not connected")
        try:
            text = orjson.dumps({"op": operation, **head})
        except orjson.JSONEncodeError as error:
            raise GuestRefused("ValueError", "Invalid argument", None) from error
        self._connection.write(_HEAD.pack(len(text), len(blob)) + text + blob)


def _require_success(reply: Reply) -> Reply:
    if (error := reply.head.get("error")) is not None:
        raise GuestRefused(error["kind"], error["message"], error["path"])
    return reply


def _ignore(_: bytes | None) -> None:
    return None
