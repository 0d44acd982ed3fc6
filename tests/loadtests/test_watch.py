"""Who watches a stack does not hold up whoever loads it."""

import os
import stat
import time

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


def test_what_a_watch_tells_is_kept_where_it_fits_however_long_nobody_listens() -> None:
    watch = Watch(Target("this", "", "", root=os.getpid()))

    # A pipe that nobody reads is full after ten minutes of looks, and whoever writes to it stands still.
    assert stat.S_ISREG(os.fstat(watch.said.fileno()).st_mode)
    watch.end()


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
