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
from importlib import import_module
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST_NAME = 400
# What decides how a test ends. Code that replaces any of it decides about tests instead of passing them.
_DECISIVE = (
    "_pytest._code.code",
    "_pytest.assertion.rewrite",
    "_pytest.nodes",
    "_pytest.outcomes",
    "_pytest.python",
    "_pytest.python_api",
    "_pytest.raises",
    "_pytest.reports",
    "_pytest.runner",
    "_pytest.skipping",
    "_pytest.unittest",
    "pluggy._callers",
    "pluggy._hooks",
    "pluggy._manager",
    "pluggy._result",
    "unittest.case",
)
# Reported in place of a test.
RUNNER = "(the test runner)"


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

    reporter = _Reporter(results, request["word"], _RunnerParts(_DECISIVE))
    # Nothing in the process leads from a name to what reports.
    for name in [name for name in sys.modules if name.partition(".")[0] == "programs"]:
        del sys.modules[name]
    vars(sys.modules["__main__"]).pop("main", None)
    plain = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=no", "--continue-on-collection-errors"]
    settings = ["-o", "addopts=", "-o", "filterwarnings=", f"--rootdir={request['root']}"]
    sys.exit(pytest.main([*plain, *settings, *request["tests"]], plugins=[reporter]))


def _limit_processor_time(seconds: int) -> None:
    """A limit that the sandbox has already can be lowered and not raised."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = seconds + 2 if hard == resource.RLIM_INFINITY else min(seconds + 2, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (min(seconds, most), most))


class _RunnerParts:
    """The runner's own functions and classes as they are before any code of the tree is imported."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._parts: list[tuple[Any, str, Any, Any]] = []
        classes: set[type] = set()
        for name in modules:
            try:
                module = import_module(name)
            except ImportError:
                # Another version of the runner has other modules.
                continue
            self._remember(module, name, classes)

    def _remember(self, owner: Any, module: str, classes: set[type]) -> None:
        for name, value in list(vars(owner).items()):
            if isinstance(value, (FunctionType, classmethod, staticmethod, property)):
                self._parts.append((owner, name, value, getattr(value, "__code__", None)))
            elif isinstance(value, type) and value.__module__ == module:
                self._parts.append((owner, name, value, None))
                if value not in classes:
                    classes.add(value)
                    self._remember(value, module, classes)

    def find_changed(self) -> str | None:
        for owner, name, value, code in self._parts:
            now = vars(owner).get(name)
            if now is not value or getattr(now, "__code__", None) is not code:
                return f"{getattr(owner, '__name__', owner)}.{name}"
        return None


class _Reporter:
    """Writes a line when a test ends: whether each of its phases passed."""

    def __init__(self, results: Any, word: str, parts: _RunnerParts) -> None:
        self._write = results.write
        self._find_changed = parts.find_changed
        self._flush = results.flush
        self._word = word
        self._phases: list[str] = []
        self._has_changed = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._phases.append(report.outcome)
        if report.when == "teardown":
            outcome = next((phase for phase in self._phases if phase != "passed"), "passed")
            self._phases.clear()
            self._report(report.nodeid, outcome)
            self._report_changes()

    def pytest_collectreport(self, report: Any) -> None:
        self._report_changes()
        if report.failed:
            self._report(report.nodeid, "error")

    def _report_changes(self) -> None:
        """Once is enough."""
        changed = None if self._has_changed else self._find_changed()
        if changed is not None:
            self._has_changed = True
            self._report(RUNNER, changed)

    def _report(self, test: str, outcome: str) -> None:
        """A test that has a document of its own in its name is named by the beginning and a digest."""
        if len(test) > _LONGEST_NAME:
            test = f"{test[:_LONGEST_NAME]}~{sha256(test.encode()).hexdigest()[:12]}"
        self._write(json.dumps([self._word, test, outcome]) + "\n")
        self._flush()
