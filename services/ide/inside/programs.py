"""Programs: started, listened to, ended."""

from __future__ import annotations

import os
import resource
import time

from .bare import READ, SIGKILL, WRITE, quietly, started
from .pipes import KEEP, ONE_READ, close, end_tree, take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .guest import Guest, Message


class Program:
    """One that runs, and what it has said so far."""

    def __init__(self, request: int, pid: int) -> None:
        self.request = request
        self.pid = pid
        self.said = (bytearray(), bytearray())
        self.pipes: dict[int, int] = {}


class Programs:
    """Everything that runs in here but the sessions' shells."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._running: dict[int, Program] = {}

    def verbs(self) -> dict[str, Callable[[Message, bytes], None]]:
        return {"run": self._run, "kill": self._kill, "kill_all": self._kill_all}

    def start(self, message: Message, ends: tuple[int, int, int], keep: tuple[int, ...] = ()) -> int:
        settings = self._guest.settings
        moment = f"@{self._guest.now // 1000} +0000"
        dated = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        env = {**settings["env"], **dated, **(message.get("env") or {})}
        os.chdir(message.get("cwd") or settings["home"])
        try:
            # A group to be killed by, but no session of its own, which would have a share of the machine of its own.
            pid = started(message["argv"], env, ends, keep)
        finally:
            # Whoever works here may have shut its own home.
            with quietly:
                os.chdir(settings["home"])
        # It may be gone already.
        with quietly:
            seconds = settings["cpu_seconds"]
            resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))
            os.setpriority(os.PRIO_PROCESS, pid, settings["nice"])
        return pid

    def _run(self, message: Message, blob: bytes) -> None:
        """Answers when the program has ended."""
        out, out_inside = os.pipe()
        err, err_inside = (None, out_inside) if message.get("merged") else os.pipe()
        stdin_inside, stdin = os.pipe() if blob else (os.open(os.devnull, os.O_RDONLY), None)
        try:
            pid = self.start(message, (stdin_inside, out_inside, err_inside))
        except BaseException:
            close((out, err, stdin))
            raise
        finally:
            close({stdin_inside, out_inside, err_inside})
        program = self._running[pid] = Program(message["id"], pid)
        self._listen(program, out, 0)
        if err is not None:
            self._listen(program, err, 1)
        if stdin is not None:
            self._feed(stdin, blob)

    def _listen(self, program: Program, pipe: int, which: int) -> None:
        os.set_blocking(pipe, False)
        program.pipes[pipe] = which

        def on_output(fd: int, _: int) -> None:
            over = take(fd, program.said[which])
            del program.said[which][KEEP:]
            if over:
                self._unlisten(program, fd)

        self._guest.selector.register(pipe, READ, on_output)

    def _unlisten(self, program: Program, pipe: int) -> None:
        self._guest.selector.unregister(pipe)
        os.close(pipe)
        del program.pipes[pipe]

    def _feed(self, pipe: int, content: bytes) -> None:
        os.set_blocking(pipe, False)
        left = bytearray(content)

        def on_writable(fd: int, _: int) -> None:
            try:
                del left[: os.write(fd, left[:ONE_READ])]
            except BlockingIOError:
                return
            except OSError:
                left.clear()
            if not left:
                self._guest.selector.unregister(fd)
                os.close(fd)

        self._guest.selector.register(pipe, WRITE, on_writable)

    def reaped(self) -> Iterator[tuple[int, int]]:
        """Whoever has ended, orphans of the sandbox among them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            code = os.waitstatus_to_exitcode(status)
            yield pid, 128 - code if code < 0 else code

    def ended(self, pid: int, code: int) -> None:
        """What lies in the pipes belongs to the answer; what a background child says later does not."""
        program = self._running.pop(pid, None)
        if program is None:
            return
        for pipe, which in list(program.pipes.items()):
            take(pipe, program.said[which])
            self._unlisten(program, pipe)
        out, err = (bytes(part[:KEEP]) for part in program.said)
        self._guest.send({"id": program.request, "exit": code, "out": len(out)}, out + err)

    def _kill(self, message: Message, _: bytes) -> None:
        """End a program that another request started, with all that it started."""
        for program in list(self._running.values()):
            if program.request == message["target"]:
                end_tree(program.pid, SIGKILL)
        self._guest.send({"id": message["id"]})

    def _kill_all(self, message: Message, _: bytes) -> None:
        """Again and again, since those that fork may outrun one sweep."""
        for _sweep in range(100):
            try:
                os.kill(-1, SIGKILL)
            except ProcessLookupError:
                break
            for pid, code in self.reaped():
                self.ended(pid, code)
            time.sleep(0.001)
        self._guest.send({"id": message["id"]})
