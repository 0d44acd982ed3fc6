"""Log lines never block whoever writes them: what nobody reads in time is dropped and counted."""

import json
import os
import subprocess
import sys

from services.kernel.logs import LogWriter


def read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read()


def test_lines_arrive_whole_and_in_order() -> None:
    reading, writing = os.pipe()
    writer = LogWriter(writing)
    for number in range(1000):
        writer.put(b"%d\n" % number)

    assert writer.flush()
    os.close(writing)
    assert read_all(reading).splitlines() == [b"%d" % number for number in range(1000)]


def test_lines_that_nobody_reads_are_dropped_and_counted() -> None:
    reading, writing = os.pipe()
    writer = LogWriter(writing, capacity=100)
    line = b"x" * 1023 + b"\n"
    for _ in range(1000):
        writer.put(line)

    assert not writer.flush(0.1)
    dropped = writer.dropped
    # The pipe takes 64 lines and the thread holds a batch of at most 100 beside the queue.
    assert dropped >= 1000 - 64 - 2 * 100

    written = os.read(reading, 1 << 20)
    while not writer.flush(0.1):
        written += os.read(reading, 1 << 20)
    os.close(writing)
    lines = (written + read_all(reading)).splitlines()
    reports = [json.loads(text) for text in lines if text.startswith(b"{")]
    assert sum(report["count"] for report in reports) == dropped
    assert len(lines) - len(reports) == 1000 - dropped


def test_each_port_is_told_once_and_its_process_not_at_all() -> None:
    """In a process of its own, because the root logger belongs to the whole process."""
    program = (
        "import logging\n"
        "from services.kernel.logs import WRITER, start_logging\n"
        "start_logging('info')\n"
        "server = logging.getLogger('uvicorn.error')\n"
        "for _ in range(2):\n"
        "    server.info('Started server process [%d]', 7)\n"
        "server.info('Uvicorn running on %s', 'http://127.0.0.1:8701')\n"
        "server.info('Finished server process [%d]', 7)\n"
        "WRITER.flush()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    (line,) = (done.stdout + done.stderr).splitlines()
    assert json.loads(line)["event"] == "Uvicorn running on http://127.0.0.1:8701"
