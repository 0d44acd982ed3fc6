"""Log lines never block whoever writes them: what nobody reads in time is dropped and counted."""

import json
import os

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
