"""Watch: a process that looks at the stack's processes while the generator does nothing but generate.

To add up a process's memory takes milliseconds for each, and Locust's users would all wait for it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path

from loadtests.gauges import Gauge, look
from loadtests.targets import Target

_LOOK_EVERY_SECONDS = 5.0
_GLANCE_SECONDS = 0.02
_ROOT = Path(__file__).parent.parent
Looks = list[tuple[float, Gauge]]


class Watch:
    """Looks from its start to its end, at moments of `time.perf_counter`, which all processes of a machine share."""

    def __init__(self, target: Target) -> None:
        asked = [*(["--root", str(target.root)] if target.root is not None else []), *target.containers]
        # A file and not a pipe: nobody reads for half an hour, and a full pipe would stop the watch.
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open until the end, as the watch is
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "loadtests.watch", *asked],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=self.said,
        )
        while not os.fstat(self.said.fileno()).st_size and self._process.poll() is None:
            time.sleep(_GLANCE_SECONDS)

    def end(self) -> Looks:
        """The last look is now."""
        self._process.communicate()
        with self.said:
            self.said.seek(0)
            looks = [_read(line) for line in self.said]
        if self._process.returncode or not looks:
            raise RuntimeError("nobody watched: the process that should have ended before its time")
        return looks


def _read(line: str) -> tuple[float, Gauge]:
    at, gauge = json.loads(line)
    return at, Gauge(**gauge)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m loadtests.watch")
    parser.add_argument("--root", type=int)
    parser.add_argument("containers", nargs="*")
    asked = parser.parse_args()
    target = Target("watched", "", "", asked.root, tuple(asked.containers))
    is_over = threading.Event()
    threading.Thread(target=_await_leave, args=(is_over,), daemon=True).start()
    _tell(target)
    while not is_over.wait(_LOOK_EVERY_SECONDS):
        _tell(target)
    _tell(target)


def _await_leave(is_over: threading.Event) -> None:
    """Whoever watched through us has ended its side, or is gone."""
    sys.stdin.read()
    is_over.set()


def _tell(target: Target) -> None:
    print(json.dumps([time.perf_counter(), asdict(look(target.pids()))]), flush=True)


if __name__ == "__main__":
    main()
