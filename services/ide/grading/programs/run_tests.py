"""Runs the tests of a tree in this process and reports each result: a JSON request, then a JSON line for each test.

Code of the tree runs beside the tests. What it could do to their results shows in a test among them that must fail,
in results that are missing, and in lines without the request's own word.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST_NAME = 400


def main() -> None:
    request = json.loads(sys.stdin.readline())
    results = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Time on a processor, not by the clock: a busy machine is nobody's endless loop.
    _limit_processor_time(request["seconds"])
    os.chdir(request["root"])
    sys.path[:0] = request["path"]
    # For tests that start Python themselves.
    os.environ["PYTHONPATH"] = os.pathsep.join(request["path"])
    # The grader's own programs are no modules that the tests could import.
    sys.path.remove(request["programs"])
    import pytest

    plain = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=no", "--continue-on-collection-errors"]
    settings = ["-o", "addopts=", "-o", "filterwarnings=", f"--rootdir={request['root']}"]
    sys.exit(pytest.main([*plain, *settings, *request["tests"]], plugins=[_Reporter(results, request["word"])]))


def _limit_processor_time(seconds: int) -> None:
    """A limit that the sandbox has already can be lowered and not raised."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = seconds + 2 if hard == resource.RLIM_INFINITY else min(seconds + 2, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (min(seconds, most), most))


class _Reporter:
    """Writes a line when a test ends: whether each of its phases passed."""

    def __init__(self, results: Any, word: str) -> None:
        self._write = results.write
        self._flush = results.flush
        self._word = word
        self._phases: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._phases.append(report.outcome)
        if report.when == "teardown":
            outcome = next((phase for phase in self._phases if phase != "passed"), "passed")
            self._phases.clear()
            self._report(report.nodeid, outcome)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._report(report.nodeid, "error")

    def _report(self, test: str, outcome: str) -> None:
        """A test that has a document of its own in its name is named by the beginning and a digest."""
        if len(test) > _LONGEST_NAME:
            test = f"{test[:_LONGEST_NAME]}~{sha256(test.encode()).hexdigest()[:12]}"
        self._write(json.dumps([self._word, test, outcome]) + "\n")
        self._flush()
