"""Log lines as JSON, written by a thread of their own.

A line that is written on the event loop stops the whole process, `/health` included, as soon as nobody drains its
standard error. So lines go into a bounded queue: where the reader is too slow, lines are dropped and counted, and the
next line that gets through says how many.
"""

import atexit
import logging
import os
import threading
import time
from collections import deque
from typing import Any

import orjson

from services.kernel.clock import iso

# About 2 MB of lines: some seconds of full load, and little enough to lose.
LINES_KEPT = 10_000
_STANDARD_ERROR = 2
_SECONDS_TO_FLUSH = 1.0
_BATCH_SECONDS = 0.05


class LogWriter:
    """A bounded queue of lines, and the thread that writes them to a file descriptor."""

    def __init__(self, descriptor: int = _STANDARD_ERROR, capacity: int = LINES_KEPT) -> None:
        self.dropped = 0
        self._descriptor = descriptor
        self._capacity = capacity
        self._lines: deque[bytes] = deque()
        self._reported = 0
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._is_parked = False
        self._is_writing = False

    def put(self, line: bytes) -> None:
        """Queues one line that ends in a newline; never blocks."""
        if len(self._lines) >= self._capacity:
            self.dropped += 1
            return
        self._lines.append(line)
        if self._thread is None:
            # A daemon: a descriptor that nobody drains must not keep the process from ending.
            self._thread = threading.Thread(target=self._write_forever, name="log-writer", daemon=True)
            self._thread.start()
        elif self._is_parked:
            self._wake.set()

    def flush(self, seconds: float = _SECONDS_TO_FLUSH) -> bool:
        """Waits until everything is written, at most this long; returns whether it is."""
        deadline = time.monotonic() + seconds
        while self._lines or self._is_writing:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _write_forever(self) -> None:
        while True:
            if not self._lines:
                self._is_parked = True
                # A line that came just before the flag was set has woken nobody.
                if not self._lines:
                    self._wake.wait()
                self._wake.clear()
                self._is_parked = False
            self._is_writing = True
            while self._lines:
                batch = b"".join(self._lines.popleft() for _ in range(min(len(self._lines), 100)))
                self._write(batch + self._report_dropped())
            self._is_writing = False
            # Under load lines are written in batches: a thread that wakes for each costs more than the request.
            time.sleep(_BATCH_SECONDS)

    def _write(self, data: bytes) -> None:
        """Past `sys.stderr`, whose lock a blocked thread would hold while the interpreter ends."""
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            # Nobody reads any more; there is nowhere to say so.
            return

    def _report_dropped(self) -> bytes:
        if self.dropped == self._reported:
            return b""
        count, self._reported = self.dropped - self._reported, self.dropped
        return encode_line("warning", "dayshift.logs", "log lines dropped", {"count": count})


WRITER = LogWriter()
atexit.register(WRITER.flush)


class QueueHandler(logging.Handler):
    """Formats records as JSON lines; fields given as `extra={"fields": {...}}` stand beside the others."""

    def __init__(self, writer: LogWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        fields = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["traceback"] = logging.Formatter().formatException(record.exc_info)
        self._writer.put(encode_line(record.levelname.lower(), record.name, record.getMessage(), fields))


def start_logging(level: str) -> None:
    root = logging.getLogger()
    root.handlers[:] = [QueueHandler(WRITER)]
    root.setLevel(level.upper())
    for chatty in ("httpx", "httpcore", "uvicorn.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # A product's process has two listeners, each of which would report the start and the end of the same process.
    logging.getLogger("uvicorn.error").addFilter(_tells_of_more_than_its_process)


def _tells_of_more_than_its_process(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith(("Started server process", "Finished server process"))


def encode_line(level: str, logger: str, event: str, fields: dict[str, Any]) -> bytes:
    # The machine's own time: lines are for operators, no episode ever sees them.
    now = iso(time.time_ns() // 1_000_000)
    line = {"time": now, "level": level, "logger": logger, "event": event, **fields}
    return orjson.dumps(line, default=str, option=orjson.OPT_APPEND_NEWLINE)
