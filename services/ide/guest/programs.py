"""Programs: started, read from, killed."""

from __future__ import annotations

import os
import resource
import time

from .minimal_stdlib import READ, SIGKILL, WRITE, ignore_os_errors, spawn
from .pipes import KEEP, ONE_READ, close, read_available, signal_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .server import Message, Server


class Program:
    """A running program, and its output so far."""

    def __init__(self, request: int, pid: int) -> None:
        self.request = request
        self.pid = pid
        # Standard output, standard error.
        self.outputs = (bytearray(), bytearray())
        # Pipe → which of the two outputs it carries.
        self.pipes: dict[int, int] = {}


class Programs:
    """Everything that runs in here but the sessions' shells."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._running: dict[int, Program] = {}

    def operations(self) -> dict[str, Callable[[Message, bytes], None]]:
        return {"run": self._run, "kill": self._kill, "kill_all": self._kill_all}

    def start(
        self, message: Message, ends: tuple[int, int, int], keep: tuple[int, ...] = (), terminal: str | None = None
    ) -> int:
        """With the path of a terminal, the program leads a session there, as a shell for a person does."""
        settings = self._server.settings
        date = f"@{self._server.now // 1000} +0000"
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        env = {**settings["env"], **dates, **(message.get("env") or {})}
        os.chdir(message.get("cwd") or settings["home"])
        try:
            # A group to be killed by, but no session of its own, which would get its own share of the machine.
            pid = spawn(message["argv"], env, ends, keep, terminal)
        finally:
            # Whoever works here may have made its own home unreadable.
            with ignore_os_errors:
                os.chdir(settings["home"])
        # It may be gone already.
        with ignore_os_errors:
            seconds = settings["cpu_seconds"]
            resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))
            os.setpriority(os.PRIO_PROCESS, pid, settings["nice"])
        return pid

    def _run(self, message: Message, blob: bytes) -> None:
        """Replies when the program has ended."""
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
        self._read_from(program, out, 0)
        if err is not None:
            self._read_from(program, err, 1)
        if stdin is not None:
            self._write_to(stdin, blob)

    def _read_from(self, program: Program, pipe: int, which: int) -> None:
        os.set_blocking(pipe, False)
        program.pipes[pipe] = which

        def on_output(descriptor: int, _: int) -> None:
            has_ended = read_available(descriptor, program.outputs[which])
            del program.outputs[which][KEEP:]
            if has_ended:
                self._close_pipe(program, descriptor)

        self._server.selector.register(pipe, READ, on_output)

    def _close_pipe(self, program: Program, pipe: int) -> None:
        self._server.selector.unregister(pipe)
        os.close(pipe)
        del program.pipes[pipe]

    def _write_to(self, pipe: int, content: bytes) -> None:
        os.set_blocking(pipe, False)
        remaining = bytearray(content)

        def on_writable(descriptor: int, _: int) -> None:
            try:
                del remaining[: os.write(descriptor, remaining[:ONE_READ])]
            except BlockingIOError:
                return
            except OSError:
                remaining.clear()
            if not remaining:
                self._server.selector.unregister(descriptor)
                os.close(descriptor)

        self._server.selector.register(pipe, WRITE, on_writable)

    def reap(self) -> Iterator[tuple[int, int]]:
        """(pid, exit code) of whatever has ended, orphans of the sandbox among it."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            code = os.waitstatus_to_exitcode(status)
            yield pid, 128 - code if code < 0 else code

    def on_end(self, pid: int, code: int) -> None:
        """What lies in the pipes belongs to the reply; the later output of a background child does not."""
        program = self._running.pop(pid, None)
        if program is None:
            return
        for pipe, which in list(program.pipes.items()):
            read_available(pipe, program.outputs[which])
            self._close_pipe(program, pipe)
        out, err = (bytes(output[:KEEP]) for output in program.outputs)
        self._server.send({"id": program.request, "exit": code, "out": len(out)}, out + err)

    def _kill(self, message: Message, _: bytes) -> None:
        """End a program that another request started, with all that it started."""
        for program in list(self._running.values()):
            if program.request == message["target"]:
                signal_tree(program.pid, SIGKILL)
        self._server.send({"id": message["id"]})

    def has_any(self) -> bool:
        """Whether anything runs, orphans and sessions' shells among it."""
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    def _kill_all(self, message: Message, _: bytes) -> None:
        self.end_all()
        self._server.send({"id": message["id"]})

    def end_all(self) -> None:
        """Repeated, since programs that fork may outrun one sweep."""
        for _sweep in range(100):
            try:
                os.kill(-1, SIGKILL)
            except ProcessLookupError:
                break
            for pid, code in self.reap():
                self.on_end(pid, code)
            time.sleep(0.001)
