"""The stats sampler sees the whole run and does not delay the generator."""

import os
import stat
import time

import pytest

from loadtests.process_stats import service_name
from loadtests.stats_sampler import StatsSampler
from loadtests.targets import Target


def test_the_sampler_sees_the_cpu_between_its_first_and_its_last_sample() -> None:
    sampler = StatsSampler(Target("this", "", "", root=os.getpid()))
    began = time.perf_counter()
    spent = time.process_time()
    while time.process_time() - spent < 0.3:
        pass

    (first_at, first), *_, (last_at, last) = sampler.end()

    assert first_at <= began < last_at <= time.perf_counter()
    assert last.cpu_seconds - first.cpu_seconds == pytest.approx(0.3, abs=0.25)
    assert first.memory_mb > 1


def test_samples_are_kept_in_a_file_however_long_nobody_reads_them() -> None:
    sampler = StatsSampler(Target("this", "", "", root=os.getpid()))

    # A pipe that nobody reads is full after ten minutes of samples, and its writer blocks.
    assert stat.S_ISREG(os.fstat(sampler.output.fileno()).st_mode)
    sampler.end()


def test_a_sampler_that_could_not_sample_says_so() -> None:
    sampler = StatsSampler(Target("nobody", "", "", containers=("no-such-container",)))

    with pytest.raises(RuntimeError, match="ended before its time"):
        sampler.end()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -m services crm", "crm"),
        ("python -m services.control.relay_process", "relay"),
        ("postgres: dayshift dayshift 127.0.0.1(57208) idle", "postgres"),
        ("redis-server *:6379", "redis"),
        ("/usr/bin/python3.11 -I -S -c import sys", "sandboxes"),
        ("", "?"),
    ],
)
def test_a_process_counts_for_what_it_is(command: str, name: str) -> None:
    assert service_name(command) == name
