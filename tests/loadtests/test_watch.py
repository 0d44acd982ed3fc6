"""Who watches a stack does not hold up whoever loads it."""

import os
import time

import pytest

from loadtests.targets import Target
from loadtests.watch import Watch


def test_a_watch_sees_what_its_processes_spent_between_its_first_look_and_its_last() -> None:
    watch = Watch(Target("this", "", "", root=os.getpid()))
    began = time.perf_counter()
    spent = time.process_time()
    while time.process_time() - spent < 0.3:
        pass

    (first_at, first), *_, (last_at, last) = watch.end()

    assert first_at <= began < last_at <= time.perf_counter()
    assert last.cpu_seconds - first.cpu_seconds == pytest.approx(0.3, abs=0.25)
    assert first.memory_mb > 1


def test_a_watch_that_could_not_look_says_so() -> None:
    watch = Watch(Target("nobody", "", "", containers=("no-such-container",)))

    with pytest.raises(RuntimeError, match="nobody watched"):
        watch.end()
