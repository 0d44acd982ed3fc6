"""Who watches a stack does not hold up whoever loads it."""

import os
import time
from itertools import pairwise

import pytest

from loadtests.gauges import name_of
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


def test_a_watch_goes_on_however_much_it_has_to_tell_before_anybody_listens() -> None:
    watch = Watch(Target("this", "", "", root=os.getpid()), every=0.001)
    deadline = time.monotonic() + 30
    # A pipe that nobody reads holds 64 KB: ten minutes of looks.
    while os.fstat(watch.said.fileno()).st_size < 80 << 10 and time.monotonic() < deadline:
        time.sleep(0.1)

    looks = watch.end()

    assert time.monotonic() < deadline
    assert max(later - earlier for (earlier, _), (later, _) in pairwise(looks)) < 5


def test_a_watch_that_could_not_look_says_so() -> None:
    watch = Watch(Target("nobody", "", "", containers=("no-such-container",)))

    with pytest.raises(RuntimeError, match="nobody watched"):
        watch.end()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -m services crm", "crm"),
        ("python -m services.control.passage", "relay"),
        ("postgres: dayshift dayshift 127.0.0.1(57208) idle", "postgres"),
        ("redis-server *:6379", "redis"),
        ("/usr/bin/python3.11 -I -S -c import sys", "sandboxes"),
        ("", "?"),
    ],
)
def test_a_process_counts_for_what_it_is(command: str, name: str) -> None:
    assert name_of(command) == name
