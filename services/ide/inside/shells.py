"""Sessions: shells that keep their directory, variables and functions between commands."""

from __future__ import annotations

import fcntl
import os

from .bare import READ, SIGINT, SIGKILL
from .pipes import KEEP, close, descendants, end_tree, signal_all, take, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .guest import Guest, Message
    from .programs import Programs

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
    """One line given to a session."""

    def __init__(self, *, key: str, text: str, at_ms: int, reads: bool, request: int | None, expect: list[str]) -> None:
        self.key = key
        self.text = text
        self.at_ms = at_ms
        # Whether it may read what is sent to the session; otherwise its input is empty.
        self.reads = reads
        # The request that waits for it, if one does.
        self.request = request
        self.expect = expect
        self.exit: int | None = None
        self.said = (bytearray(), bytearray())


class Session:
    """One shell and the ends of its pipes that are ours."""

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


class Shells:
    """All sessions of the sandbox."""

    def __init__(self, guest: Guest, programs: Programs) -> None:
        self._guest = guest
        self._programs = programs
        self._sessions: dict[str, Session] = {}

    def verbs(self) -> dict[str, Callable[[Message, bytes], None]]:
        return {
            "session_open": self._open,
            "session_run": self._run,
            "session_input": self._input,
            "session_interrupt": self._interrupt,
            "session_close": self._close,
            "session_list": self._list,
            "session_logs": self._logs,
        }

    def ended(self, pid: int) -> None:
        for session in [one for one in self._sessions.values() if one.pid == pid]:
            self._forget(session)

    def _open(self, message: Message, _: bytes) -> None:
        if message["session"] in self._sessions:
            raise FileExistsError("session already exists")
        control_inside, control = _high_pipe(0)
        status_inside, status = _high_pipe(1)
        inside, stdin, outputs = _terminal() if message.get("terminal") else _plain_pipes()
        handed = (status_inside, control_inside)
        opening = "exec 8>&{0} 9<&{1} {0}>&- {1}<&-\n".format(*handed)
        argv = ["/bin/bash", "--noprofile", "--norc", "-c", opening + _LOOP, "bash"]
        try:
            pid = self._programs.start({**message, "argv": argv}, inside, handed)
        except BaseException:
            close({control, status, stdin, *outputs})
            raise
        finally:
            close({*inside, *handed})
        session = Session(message["session"], pid, control, status, stdin, outputs)
        self._sessions[session.name] = session
        self._listen(session)
        self._guest.send({"id": message["id"]})

    def _listen(self, session: Session) -> None:
        for pipe in (session.status, *session.outputs):
            os.set_blocking(pipe, False)
        self._guest.selector.register(session.status, READ, lambda *_: self._on_status(session))
        for which, pipe in enumerate(session.outputs):
            self._guest.selector.register(pipe, READ, self._on_output(session, which))

    def _on_output(self, session: Session, which: int) -> Callable[[int, int], None]:
        def heard(pipe: int, _: int) -> None:
            command = session.running
            # What a background program says between two commands belongs to neither.
            said = bytearray() if command is None else command.said[which]
            if take(pipe, said):
                self._guest.selector.unregister(pipe)
            del said[KEEP:]
            if command is not None and command.request is not None:
                self._look_for_expected(command)

        return heard

    def _run(self, message: Message, _: bytes) -> None:
        session = self._named(message)
        detached = bool(message.get("detached"))
        command = Command(
            key=message["key"],
            text=message["command"],
            at_ms=self._guest.now,
            reads=bool(message.get("reads")),
            request=None if detached else message["id"],
            expect=message.get("expect") or [],
        )
        session.commands[command.key] = command
        session.waiting.append(command)
        if detached:
            self._guest.send({"id": message["id"]})
        self._next(session)

    def _next(self, session: Session) -> None:
        if session.running is not None or not session.waiting:
            return
        command = session.running = session.waiting.pop(0)
        told = (f"@{command.at_ms // 1000} +0000", "open" if command.reads else "shut", command.text, "")
        write_all(session.control, "\0".join(told).encode(errors="surrogateescape"))

    def _on_status(self, session: Session) -> None:
        received = bytearray()
        if take(session.status, received):
            self._guest.selector.unregister(session.status)
            return
        *codes, session.partial = (session.partial + bytes(received)).split(b"\0")
        for code in codes:
            self._command_ended(session, int(code))

    def _command_ended(self, session: Session, code: int) -> None:
        command, session.running = session.running, None
        if command is None:
            return
        for which, pipe in enumerate(session.outputs):
            take(pipe, command.said[which])
        command.exit = code
        self._answer(command, None)
        self._next(session)

    def _answer(self, command: Command, matched: str | None) -> None:
        if command.request is None:
            return
        out, err = (bytes(part[:KEEP]) for part in command.said)
        told = {"id": command.request, "exit": command.exit, "out": len(out), "matched": matched}
        command.request = None
        self._guest.send(told, out + err)

    def _look_for_expected(self, command: Command) -> None:
        """Interactive programs do not end: an answer is due when they say what was expected of them."""
        if not command.expect:
            return
        import re

        for pattern in command.expect:
            if found := re.search(pattern.encode(), bytes(command.said[0])):
                del command.said[0][found.start() :]
                self._answer(command, pattern)
                command.said = (bytearray(), bytearray())
                return

    def _input(self, message: Message, blob: bytes) -> None:
        """What a program in the session reads; a request that expects something waits for what it says to that."""
        session = self._named(message)
        command = session.running
        if message.get("waits") and command is not None:
            command.request, command.expect = message["id"], message.get("expect") or []
            command.said = (bytearray(), bytearray())
            write_all(session.stdin, blob)
            return
        write_all(session.stdin, blob)
        self._guest.send({"id": message["id"]})

    def _interrupt(self, message: Message, _: bytes) -> None:
        """As Ctrl-C would; `hard` ends whatever the command started, `whole` the shell that starts it over and over."""
        session = self._named(message)
        if session.running is not None:
            if message.get("whole"):
                end_tree(session.pid, SIGKILL)
                # At once, not when its end is noticed: the next request must not find a shell that is dying.
                self._forget(session)
            else:
                signal_all(descendants(session.pid), SIGKILL if message.get("hard") else SIGINT)
        self._guest.send({"id": message["id"], "running": session.running is not None})

    def _close(self, message: Message, _: bytes) -> None:
        session = self._named(message)
        end_tree(session.pid, SIGKILL)
        self._forget(session)
        self._guest.send({"id": message["id"]})

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.name, None)
        waiting, session.waiting = session.waiting, []
        self._command_ended(session, 137)
        for command in waiting:
            command.exit = 137
            self._answer(command, None)
        for pipe in {session.control, session.status, session.stdin, *session.outputs}:
            if pipe in self._guest.selector:
                self._guest.selector.unregister(pipe)
            close((pipe,))

    def _list(self, message: Message, _: bytes) -> None:
        told = {
            name: [[command.key, command.text, command.exit] for command in session.commands.values()]
            for name, session in self._sessions.items()
        }
        self._guest.send({"id": message["id"], "sessions": told})

    def _logs(self, message: Message, _: bytes) -> None:
        command = self._named(message).commands[message["key"]]
        out, err = (bytes(part[:KEEP]) for part in command.said)
        told = {"id": message["id"], "exit": command.exit, "command": command.text, "out": len(out)}
        self._guest.send(told, out + err)

    def _named(self, message: Message) -> Session:
        return self._sessions[message["session"]]


def _high_pipe(end: int) -> tuple[int, int]:
    """(the shell's end, ours): the shell's is numbered clear of the descriptors that it is to become."""
    pipe = os.pipe()
    high = fcntl.fcntl(pipe[end], fcntl.F_DUPFD_CLOEXEC, 32)
    os.close(pipe[end])
    return high, pipe[1 - end]


def _plain_pipes() -> tuple[tuple[int, int, int], int, tuple[int, ...]]:
    stdin_inside, stdin = os.pipe()
    out, out_inside = os.pipe()
    err, err_inside = os.pipe()
    return (stdin_inside, out_inside, err_inside), stdin, (out, err)


def _terminal() -> tuple[tuple[int, int, int], int, tuple[int, ...]]:
    """A terminal without echo, whose lines end as files' do."""
    import termios

    ours, theirs = os.openpty()
    mode = termios.tcgetattr(theirs)
    mode[1] &= ~termios.ONLCR
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    return (theirs, theirs, theirs), ours, (ours,)
