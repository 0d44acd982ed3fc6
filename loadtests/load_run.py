"""One load run, from a shape to a summary."""

import gc
import os
import threading
import time
from collections.abc import Callable
from statistics import fmean

from locust.env import Environment

from loadtests.calls import EpisodeScript
from loadtests.episode_scripts import Workload, play_episode
from loadtests.measurements import (
    Distribution,
    Recorder,
    ResourceUse,
    Summary,
    count_kinds,
    distributions_by_name,
    timeline,
)
from loadtests.pacing import Schedule, Shape
from loadtests.process_stats import busy_seconds, cpu_seconds
from loadtests.stats_sampler import StatsSampler, StatsTimeline
from loadtests.targets import NotReady, Target
from loadtests.users import EpisodeUser, RunState

_OPENING_SECONDS = 120.0
_DRAIN_SECONDS = 60.0
_LATENESS_INTERVAL_SECONDS = 0.01
# Allocations between two collections of garbage: all that a run records is alive, and a collection reads all of it.
_GARBAGE_THRESHOLD = 200_000


class LoadRun:
    """One run against a target."""

    def __init__(
        self, target: Target, shape: Shape, *, users: int, episodes: int, world: str, product: str | None = None
    ) -> None:
        self.target = target
        self.shape = shape
        self.users = users
        self.episodes_each = max(1, episodes // users)
        self.world = world
        self.product = product
        self.recorder = Recorder()
        self._is_over = threading.Event()
        self.stats: StatsTimeline = []
        # How late the generator itself was, in milliseconds; this is part of every response time.
        self._late: list[float] = []

    def run(
        self,
        make_script: Callable[[int], EpisodeScript] | None = None,
        during: Callable[[RunState], None] | None = None,
        warm_calls: int = 0,
    ) -> Summary:
        # Tasks of every family, and free play, which alone uses all products in one episode.
        tasks = (*self.target.families(self.product), None)
        self.target.warm(tasks, self.world)
        workload = Workload(self.target.url, self.target.token, tasks, self.world, self.product)
        scripts_started = make_script or (lambda number: play_episode(workload, number))
        run = RunState(Schedule(self.shape), self.recorder, scripts_started, self.episodes_each, warm_calls)
        user_class = type(
            f"{(self.product or 'mixed').title()}User",
            (EpisodeUser,),
            {"run_": run, "host": self.target.url, "abstract": False},
        )
        environment = Environment(user_classes=[user_class], catch_exceptions=False)
        runner = environment.create_local_runner()
        run.began = time.perf_counter()
        runner.start(self.users, spawn_rate=self.users)
        self._await_open_episodes(run)
        gc.freeze()
        gc.set_threshold(_GARBAGE_THRESHOLD, 10, 100)
        watch = StatsSampler(self.target)
        own, busy = cpu_seconds(os.getpid()), busy_seconds()
        run.start_clock()
        measuring = threading.Thread(target=self._measure_lateness, daemon=True)
        measuring.start()
        try:
            if during is not None:
                during(run)
            self._await_end(runner, run, watch)
        finally:
            ended = run.now()
            self._is_over.set()
            run.may_leave.set()
            measuring.join()
            own_share = (cpu_seconds(os.getpid()) - own) / max(ended, 1e-9)
            share = (busy_seconds() - busy) / max(ended, 1e-9) / (os.cpu_count() or 1)
            runner.quit()
        return self._summary(run, own_share, share)

    def _await_open_episodes(self, run: RunState) -> None:
        while run.ready < self.users:
            if run.now() > _OPENING_SECONDS:
                raise NotReady(f"only {run.ready} of {self.users} users could open their episodes")
            time.sleep(0.05)

    def _await_end(self, runner: object, run: RunState, watch: StatsSampler) -> None:
        deadline = self.shape.seconds + _DRAIN_SECONDS
        while run.now() < deadline and run.finished < self.users:
            time.sleep(0.05)
        self._is_over.set()
        self.stats = [(at - run.began, gauge) for at, gauge in watch.end()]
        run.may_leave.set()
        while run.now() < deadline + _DRAIN_SECONDS and getattr(runner, "user_count", 0) > 0:
            time.sleep(0.1)

    def _measure_lateness(self) -> None:
        while not self._is_over.is_set():
            before = time.perf_counter()
            time.sleep(_LATENESS_INTERVAL_SECONDS)
            self._late.append((time.perf_counter() - before - _LATENESS_INTERVAL_SECONDS) * 1000)

    def _summary(self, run: RunState, own_share: float, machine_share: float) -> Summary:
        samples = self.recorder.samples
        last = max((sample.done for sample in samples), default=0.0)
        errors = sum(sample.is_error for sample in samples)
        return Summary(
            shape=self.shape.name,
            target=self.target.name,
            world=self.world,
            users=self.users,
            episodes_at_once=self.users * self.episodes_each,
            seconds=self.shape.seconds,
            offered=run.schedule.offered,
            qps=len(samples) / max(last, self.shape.seconds),
            responses=Distribution.of(sample.milliseconds for sample in samples),
            prompt=Distribution.of(sample.milliseconds for sample in samples if sample.is_short),
            service=Distribution.of(sample.service_milliseconds for sample in samples),
            by_name=distributions_by_name(samples),
            # A script may also fail with a right status, by an unscored verdict: that is an error too.
            errors=max(errors, len(self.recorder.failures)),
            stale_reads=len(self.recorder.violations),
            episodes_played=self.recorder.episodes_played,
            episodes_left=self.target.open_episodes(),
            error_kinds=count_kinds(self.recorder.failures),
            violations=[violation.what for violation in self.recorder.violations[:20]],
            resources=self._resource_use(len(samples), own_share, machine_share),
            timeline=timeline(samples),
        )

    def _resource_use(self, requests: int, own_share: float, machine_share: float) -> ResourceUse:
        (_, first), (_, last) = self.stats[0], self.stats[-1]
        late = Distribution.of(self._late).p99
        if not self.target.pids():
            return ResourceUse(None, None, None, own_share, machine_cpu_share=machine_share, generator_late_ms=late)
        warm, end = self._quarter(1), self._quarter(3)
        growth = sum(end.values()) / sum(warm.values()) - 1 if warm and end else None
        return ResourceUse(
            cpu_us_per_request=(last.cpu_seconds - first.cpu_seconds) / max(requests, 1) * 1e6,
            cpu_by_service={
                name: (spent - first.by_name.get(name, 0.0)) / max(requests, 1) * 1e6
                for name, spent in sorted(last.by_name.items())
            },
            memory_mb=max(gauge.memory_mb for _, gauge in self.stats),
            memory_growth=growth,
            growth_by_service={
                name: round(end.get(name, 0.0) - warm.get(name, 0.0), 1) for name in sorted({*warm, *end})
            },
            memory_by_service={
                name: round(open_resources) for name, open_resources in sorted(last.memory_by_name.items())
            },
            generator_cpu_share=own_share,
            open_files=last.open_files,
            machine_cpu_share=machine_share,
            generator_late_ms=late,
        )

    def _quarter(self, number: int) -> dict[str, float]:
        """Return the mean memory of each service in a quarter of the run, since the number of sandboxes varies."""
        quarter = self.shape.seconds / 4
        stats = [one.memory_by_name for at, one in self.stats if number * quarter <= at < (number + 1) * quarter]
        names = {name for read_stats in stats for name in read_stats}
        return {name: fmean(read_stats.get(name, 0.0) for read_stats in stats) for name in names}
