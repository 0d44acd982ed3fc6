"""Sandbox: one isolated machine seen from outside. All that is asked of it crosses one channel as frames."""

import asyncio
import itertools
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

_HEAD = struct.Struct(">II")
# A guest that is silent this long after it was told to kill something is given up.
_GRACE_SECONDS = 5.0
_FILE_SECONDS = 30.0
_LARGEST_FRAME = 256 << 20


class SandboxLost(RuntimeError):
    """The sandbox is gone or does not answer: the house's trouble, never the agent's gain."""


class GuestRefused(Exception):
    """What the operating system inside said to a request, with its own words."""

    def __init__(self, kind: str, message: str, path: str | None) -> None:
        super().__init__(message)
        self.kind = kind
        self.path = path


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended, and what it said."""

    exit: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")

    @property
    def complaint(self) -> str:
        return self.stderr.decode(errors="replace")


class Wire(Protocol):
    """Carries bytes to a guest; whoever made it also knows how to end the guest."""

    def write(self, content: bytes) -> None: ...

    def end(self) -> None: ...

    def processes(self) -> list[int]:
        """Of the host's numbering, for measuring; empty where the engine measures itself."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One frame from the guest."""

    head: dict[str, Any]
    blob: bytes


class Sandbox:
    """Ask, and await what comes back."""

    def __init__(self) -> None:
        self._wire: Wire | None = None
        self._inbox = bytearray()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._flows: dict[int, Callable[[bytes | None], None]] = {}
        self._on_dial: Callable[[int, str], Awaitable[None]] | None = None
        self._dials: set[asyncio.Task[None]] = set()
        self.ready: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[0] = self.ready
        self.over: str | None = None
        # A socket for descriptors, where guest and host share a kernel.
        self.hands: socket.socket | None = None
        self.busy = 0
        # Set when everything in it was killed for using too much memory.
        self.overspent = False

    # --- the wire's side ----------------------------------------------------------------------------------------

    def connected(self, wire: Wire) -> None:
        self._wire = wire

    def received(self, content: bytes) -> None:
        self._inbox += content
        at = 0
        while len(self._inbox) - at >= _HEAD.size:
            text, blob = _HEAD.unpack_from(self._inbox, at)
            if text + blob > _LARGEST_FRAME:
                self.lost("it sent a frame that cannot be meant")
                return
            start = at + _HEAD.size
            end = start + text + blob
            if len(self._inbox) < end:
                break
            head = orjson.loads(self._inbox[start : start + text])
            self._arrived(Reply(head, bytes(self._inbox[start + text : end])))
            at = end
        del self._inbox[:at]

    def lost(self, because: str) -> None:
        """Whoever waits learns that nothing will come."""
        if self.over is not None:
            return
        self.over = because
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(SandboxLost(because))
                # Nobody may be waiting for it any more; that is no reason for a warning at exit.
                future.exception()
        for heard in list(self._flows.values()):
            heard(None)
        self._waiting.clear()
        self._flows.clear()
        # Whoever it knew is let go of, and lets go of it: what an episode held is free when it ends, not at some look.
        self._on_dial = None
        if self._wire is not None:
            self._wire.end()
            self._wire = None
        if self.hands is not None:
            self.hands.close()

    def _arrived(self, reply: Reply) -> None:
        number = reply.head["id"]
        if "dial" in reply.head and self._on_dial is not None:
            self._flows[number] = _deaf
            task = asyncio.get_running_loop().create_task(self._answer_dial(number, reply.head["dial"]))
            self._dials.add(task)
            task.add_done_callback(self._dials.discard)
        elif "flow" in reply.head:
            heard = self._flows.get(number, _deaf)
            heard(reply.blob if reply.head["flow"] else None)
        elif (future := self._waiting.pop(number, None)) is not None and not future.done():
            future.set_result(reply)

    # --- asking -------------------------------------------------------------------------------------------------

    async def ask(self, op: str, blob: bytes = b"", seconds: float = _FILE_SECONDS, **about: Any) -> Reply:
        number, future = self._post(op, blob, about)
        try:
            async with asyncio.timeout(seconds):
                return _told(await future)
        except TimeoutError:
            self.lost(f"no answer to {op} in {seconds:g} s")
            raise SandboxLost(f"no answer to {op} in {seconds:g} s") from None
        finally:
            self._waiting.pop(number, None)

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
    ) -> Ran:
        """One program; after `seconds` of our time it is killed, whatever it thinks of the time."""
        about = {"argv": list(argv), "cwd": cwd, "env": dict(env or {}), "merged": merged, "now": now_ms}
        number, future = self._post("run", stdin, about)
        timed_out = False
        self.busy += 1
        try:
            try:
                async with asyncio.timeout(seconds):
                    reply = await asyncio.shield(future)
            except TimeoutError:
                timed_out = True
                await self.ask("kill", target=number, seconds=_GRACE_SECONDS)
                reply = await self._after_kill(future)
        finally:
            self.busy -= 1
            self._waiting.pop(number, None)
        told = _told(reply)
        said = told.head["out"]
        return Ran(told.head["exit"], told.blob[:said], told.blob[said:], timed_out)

    async def _after_kill(self, future: asyncio.Future[Reply]) -> Reply:
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                return await future
        except TimeoutError:
            self.lost("a program outlived its own death")
            raise SandboxLost("a program outlived its own death") from None

    async def waiting(self, op: str, blob: bytes, seconds: float, **about: Any) -> Reply | None:
        """Like `ask`, for what may take long: None when the time is over, and the guest goes on."""
        number, future = self._post(op, blob, about)
        self.busy += 1
        try:
            async with asyncio.timeout(seconds):
                return _told(await future)
        except TimeoutError:
            return None
        finally:
            self.busy -= 1
            self._waiting.pop(number, None)

    async def file(self, action: str, blob: bytes = b"", **about: Any) -> Reply:
        return await self.ask("file", blob, action=action, **about)

    def hand_over(self, descriptor: int) -> None:
        """For the next request, which says what to do with it."""
        if self.hands is None or self.over is not None:
            raise SandboxLost(self.over or "this sandbox takes no descriptors")
        socket.send_fds(self.hands, [b"."], [descriptor])

    async def kill_everything(self) -> None:
        await self.ask("kill_all", seconds=_GRACE_SECONDS)

    # --- streams ------------------------------------------------------------------------------------------------

    def answer_dials(self, answered: Callable[[int, str], Awaitable[None]]) -> None:
        """What to do when a program inside calls out through the only socket there is."""
        self._on_dial = answered

    async def _answer_dial(self, number: int, asked: str) -> None:
        if self._on_dial is not None:
            await self._on_dial(number, asked)

    def pipe(self, argv: Sequence[str], heard: Callable[[bytes | None], None], **about: Any) -> int:
        """Start a program whose ends are ours: `heard` gets what it says, and None at its end."""
        number = next(self._numbers)
        self._flows[number] = heard
        self._send({"id": number, "op": "pipe", "argv": list(argv), **about}, b"")
        return number

    def hear(self, number: int, heard: Callable[[bytes | None], None]) -> None:
        self._flows[number] = heard

    def say(self, number: int, content: bytes | None) -> None:
        """To the program's input; None closes it."""
        about = {"id": 0, "op": "flow", "to": number, "over": content is None}
        self._send(about, content or b"")

    def let_go(self, number: int) -> None:
        self._flows.pop(number, None)
        if self.over is None:
            self._send({"id": 0, "op": "let_go", "to": number}, b"")

    def end(self) -> None:
        self.lost("closed")

    def processes(self) -> list[int]:
        return [] if self._wire is None else self._wire.processes()

    def _post(self, op: str, blob: bytes, about: Mapping[str, Any]) -> tuple[int, asyncio.Future[Reply]]:
        number = next(self._numbers)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._send({"id": number, "op": op, **about}, blob)
        return number, future

    def _send(self, head: Mapping[str, Any], blob: bytes) -> None:
        if self._wire is None:
            raise SandboxLost(self.over or "not connected")
        text = orjson.dumps(head)
        self._wire.write(_HEAD.pack(len(text), len(blob)) + text + blob)


def _told(reply: Reply) -> Reply:
    if (error := reply.head.get("error")) is not None:
        raise GuestRefused(error["kind"], error["message"], error["path"])
    return reply


def _deaf(_: bytes | None) -> None:
    return None
