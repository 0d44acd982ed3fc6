"""The stats sampler: a process that reads the statistics of the stack's processes during a run.

Reading the memory of one process takes milliseconds, and in the generator's process all of Locust's users would wait.
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

from loadtests.process_stats import ProcessStats, read_stats
from loadtests.targets import Target

_INTERVAL_SECONDS = 5.0
_POLL_SECONDS = 0.02
_ROOT = Path(__file__).parent.parent
StatsTimeline = list[tuple[float, ProcessStats]]


class StatsSampler:
    """Samples from its start to its end; times are those of `time.perf_counter`, which all processes share."""

    def __init__(self, target: Target) -> None:
        options = [*(["--root", str(target.root)] if target.root is not None else []), *target.containers]
        # A file and not a pipe: nobody reads for half an hour, and a full pipe would stop the sampler.
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in `end`
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "loadtests.stats_sampler", *options],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=self.output,
        )
        while not os.fstat(self.output.fileno()).st_size and self._process.poll() is None:
            time.sleep(_POLL_SECONDS)

    def end(self) -> StatsTimeline:
        """Take the last sample and return all of them."""
        self._process.communicate()
        with self.output:
            self.output.seek(0)
            stats = [_read(line) for line in self.output]
        if self._process.returncode or not stats:
            raise RuntimeError("the stats sampler ended before its time")
        return stats


def _read(line: str) -> tuple[float, ProcessStats]:
    seconds, stats = json.loads(line)
    return seconds, ProcessStats(**stats)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m loadtests.stats_sampler")
    parser.add_argument("--root", type=int)
    parser.add_argument("containers", nargs="*")
    options = parser.parse_args()
    target = Target("sampled", "", "", options.root, tuple(options.containers))
    is_over = threading.Event()
    threading.Thread(target=_await_end_of_input, args=(is_over,), daemon=True).start()
    _print_sample(target)
    while not is_over.wait(_INTERVAL_SECONDS):
        _print_sample(target)
    _print_sample(target)


def _await_end_of_input(is_over: threading.Event) -> None:
    """The input ends when the generator ends the sampler, or is gone."""
    sys.stdin.read()
    is_over.set()


def _print_sample(target: Target) -> None:
    print(json.dumps([time.perf_counter(), asdict(read_stats(target.pids()))]), flush=True)


if __name__ == "__main__":
    main()
