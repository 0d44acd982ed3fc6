"""Sessions: shells that keep their directory, variables and functions between commands."""

from __future__ import annotations

import fcntl
import os

from .minimal_stdlib import READ, SIGINT, SIGKILL, TimeLimit, TookTooLong
from .pipes import KEEP, close, descendants, read_available, signal_all, signal_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .programs import Programs
    from .server import Message, Server

_LONGEST_CODE = 3
_SEARCH_SECONDS = 0.5
# Commands come over descriptor 9 and their exit codes leave over 8; neither is open for what the commands start.
_LOOP = r"""
trap ':' INT
while IFS= read -r -d '' -u 9 __at && IFS= read -r -d '' -u 9 __how && IFS= read -r -d '' -u 9 __what; do
  export GIT_AUTHOR_DATE="$__at" GIT_COMMITTER_DATE="$__at"
  if [ "$__how" = open ]; then eval "$__what" 8>&- 9<&-; else eval "$__what" 8>&- 9<&- </dev/null; fi
  printf '%s\0' "$?" >&8
done
"""


class Command:
    """One command of a session."""

    def __init__(
        self, *, key: str, text: str, now_ms: int, reads: bool, request: int | None, expect: list[str]
    ) -> None:
        self.key = key
        self.text = text
        self.now_ms = now_ms
        # Whether it may read the session's input; otherwise its input is empty.
        self.reads = reads
        # The request that waits for it, if one does.
        self.request = request
        self.expect = expect
        self.exit: int | None = None
        self.outputs = (bytearray(), bytearray())


class Session:
    """One shell, and our ends of its pipes."""

    def __init__(self, name: str, pid: int, control: int, status: int, stdin: int, outputs: tuple[int, ...]) -> None:
        self.name = name
        self.pid = pid
        self.control = control
        self.status = status
        self.stdin = stdin
        self.outputs = outputs
        self.running: Command | None = None
        self.waiting: list[Command] = []
        self.commands: dict[str, Command] = {}
        self.partial = b""


class Sessions:
    """All sessions of the sandbox."""

    def __init__(self, server: Server, programs: Programs) -> None:
        self._server = server
        self._programs = programs
        self._sessions: dict[str, Session] = {}

    def operations(self) -> dict[str, Callable[[Message, bytes], None]]:
        return {
            "session_open": self._open,
            "session_run": self._run,
            "session_input": self._input,
            "session_interrupt": self._interrupt,
            "session_close": self._close,
            "session_list": self._list,
            "session_logs": self._logs,
        }

    def on_end(self, pid: int) -> None:
        for session in [session for session in self._sessions.values() if session.pid == pid]:
            self._remove(session)

    def _open(self, message: Message, _: bytes) -> None:
        if message["session"] in self._sessions:
            raise FileExistsError("session already exists")
        control_inside, control = _open_high_pipe(0)
        status_inside, status = _open_high_pipe(1)
        inside, stdin, outputs = _open_terminal() if message.get("terminal") else _open_pipes()
        inherited = (status_inside, control_inside)
        opening = "exec 8>&{0} 9<&{1} {0}>&- {1}<&-\n".format(*inherited)
        argv = ["/bin/bash", "--noprofile", "--norc", "-c", opening + _LOOP, "bash"]
        try:
            pid = self._programs.start({**message, "argv": argv}, inside, inherited)
        except BaseException:
            close({control, status, stdin, *outputs})
            raise
        finally:
            close({*inside, *inherited})
        session = Session(message["session"], pid, control, status, stdin, outputs)
        self._sessions[session.name] = session
        self._register(session)
        self._server.send({"id": message["id"]})

    def _register(self, session: Session) -> None:
        for pipe in (session.control, session.status, session.stdin, *session.outputs):
            os.set_blocking(pipe, False)
        self._server.selector.register(session.status, READ, lambda *_: self._on_status(session))
        for which, pipe in enumerate(session.outputs):
            self._server.selector.register(pipe, READ, self._output_handler(session, which))

    def _output_handler(self, session: Session, which: int) -> Callable[[int, int], None]:
        def on_output(pipe: int, _: int) -> None:
            command = session.running
            # The output of a background program between two commands belongs to neither.
            output = bytearray() if command is None else command.outputs[which]
            if read_available(pipe, output):
                self._server.selector.unregister(pipe)
            del output[KEEP:]
            if command is not None and command.request is not None:
                self._look_for_expected(command)

        return on_output

    def _run(self, message: Message, _: bytes) -> None:
        session = self._session(message)
        detached = bool(message.get("detached"))
        command = Command(
            key=message["key"],
            text=message["command"],
            now_ms=self._server.now,
            reads=bool(message.get("reads")),
            request=None if detached else message["id"],
            expect=message.get("expect") or [],
        )
        session.commands[command.key] = command
        session.waiting.append(command)
        if detached:
            self._server.send({"id": message["id"]})
        self._start_next(session)

    def _start_next(self, session: Session) -> None:
        if session.running is not None or not session.waiting:
            return
        command = session.running = session.waiting.pop(0)
        fields = (f"@{command.now_ms // 1000} +0000", "open" if command.reads else "shut", command.text, "")
        self._server.writers.write(session.control, "\0".join(fields).encode(errors="surrogateescape"))

    def _on_status(self, session: Session) -> None:
        received = bytearray()
        if read_available(session.status, received):
            self._server.selector.unregister(session.status)
            return
        *codes, session.partial = (session.partial + bytes(received)).split(b"\0")
        session.partial = session.partial[: _LONGEST_CODE + 1]
        # A command can find the descriptor and write to it; what is no exit code says nothing.
        for code in codes:
            if len(code) <= _LONGEST_CODE and code.isdigit():
                self._end_command(session, int(code))

    def _end_command(self, session: Session, code: int) -> None:
        command, session.running = session.running, None
        if command is None:
            return
        for which, pipe in enumerate(session.outputs):
            read_available(pipe, command.outputs[which])
        command.exit = code
        self._reply(command, None)
        self._start_next(session)

    def _reply(self, command: Command, matched: str | None) -> None:
        if command.request is None:
            return
        out, err = (bytes(output[:KEEP]) for output in command.outputs)
        reply = {"id": command.request, "exit": command.exit, "out": len(out), "matched": matched}
        command.request = None
        self._server.send(reply, out + err)

    def _look_for_expected(self, command: Command) -> None:
        """Interactive programs do not end: the reply is due when they print what the request expects."""
        if not command.expect:
            return
        import re

        for pattern in list(command.expect):
            try:
                with TimeLimit(_SEARCH_SECONDS):
                    match = re.search(pattern.encode(), bytes(command.outputs[0]))
            except (re.error, ValueError, OverflowError, RecursionError, MemoryError, TookTooLong):
                # What is no expression, or takes forever, is never found: the command goes on until its end.
                command.expect.remove(pattern)
                continue
            if match:
                del command.outputs[0][match.start() :]
                self._reply(command, pattern)
                command.outputs = (bytearray(), bytearray())
                return

    def _input(self, message: Message, blob: bytes) -> None:
        """Write to a program of the session; a request that expects something waits for the output."""
        session = self._session(message)
        command = session.running
        if message.get("waits") and command is not None:
            command.request, command.expect = message["id"], message.get("expect") or []
            command.outputs = (bytearray(), bytearray())
            self._server.writers.write(session.stdin, blob)
            return
        self._server.writers.write(session.stdin, blob)
        self._server.send({"id": message["id"]})

    def _interrupt(self, message: Message, _: bytes) -> None:
        """As Ctrl-C does; `hard` kills whatever the command started, `whole` the shell that starts it over and over."""
        session = self._session(message)
        if session.running is not None:
            if message.get("whole"):
                signal_tree(session.pid, SIGKILL)
                # At once, not when its end is noticed: the next request must not get a shell that is dying.
                self._remove(session)
            else:
                signal_all(descendants(session.pid), SIGKILL if message.get("hard") else SIGINT)
        self._server.send({"id": message["id"], "running": session.running is not None})

    def _close(self, message: Message, _: bytes) -> None:
        session = self._session(message)
        signal_tree(session.pid, SIGKILL)
        self._remove(session)
        self._server.send({"id": message["id"]})

    def _remove(self, session: Session) -> None:
        self._sessions.pop(session.name, None)
        waiting, session.waiting = session.waiting, []
        self._end_command(session, 137)
        for command in waiting:
            command.exit = 137
            self._reply(command, None)
        for pipe in {session.control, session.status, session.stdin, *session.outputs}:
            self._server.writers.forget(pipe)
            if pipe in self._server.selector:
                self._server.selector.unregister(pipe)
            close((pipe,))

    def _list(self, message: Message, _: bytes) -> None:
        sessions = {
            name: [[command.key, command.text, command.exit] for command in session.commands.values()]
            for name, session in self._sessions.items()
        }
        self._server.send({"id": message["id"], "sessions": sessions})

    def _logs(self, message: Message, _: bytes) -> None:
        """The output so far, or what came since the two positions in it that `since` gives."""
        command = self._session(message).commands[message["key"]]
        starts = message.get("since") or (0, 0)
        out, err = (bytes(output[start:KEEP]) for output, start in zip(command.outputs, starts, strict=True))
        reply = {"id": message["id"], "exit": command.exit, "command": command.text, "out": len(out)}
        self._server.send(reply, out + err)

    def _session(self, message: Message) -> Session:
        return self._sessions[message["session"]]


def _open_high_pipe(end: int) -> tuple[int, int]:
    """(the shell's end, ours): the number of the shell's is above those of the descriptors that it becomes."""
    pipe = os.pipe()
    high = fcntl.fcntl(pipe[end], fcntl.F_DUPFD_CLOEXEC, 32)
    os.close(pipe[end])
    return high, pipe[1 - end]


def _open_pipes() -> tuple[tuple[int, int, int], int, tuple[int, ...]]:
    stdin_inside, stdin = os.pipe()
    out, out_inside = os.pipe()
    err, err_inside = os.pipe()
    return (stdin_inside, out_inside, err_inside), stdin, (out, err)


def _open_terminal() -> tuple[tuple[int, int, int], int, tuple[int, ...]]:
    """A terminal without echo, whose lines end as files' do."""
    import termios

    ours, theirs = os.openpty()
    mode = termios.tcgetattr(theirs)
    mode[1] &= ~termios.ONLCR
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    return (theirs, theirs, theirs), ours, (ours,)
