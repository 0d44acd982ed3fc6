"""drive: one run, from a shape to a summary."""

import gc
import os
import threading
import time
from collections.abc import Callable
from statistics import fmean

from locust.env import Environment

from loadtests.asking import Life
from loadtests.gauges import busy_seconds, cpu_seconds
from loadtests.life import Post, live
from loadtests.measurements import Recorder, Spread, Strain, Summary, kinds_of, spreads_by_name, timeline
from loadtests.pacing import Schedule, Shape
from loadtests.targets import NotReady, Target
from loadtests.users import Run, ShiftUser
from loadtests.watch import Looks, Watch

_OPENING_SECONDS = 120.0
_DRAIN_SECONDS = 60.0
_BEAT_SECONDS = 0.01
# Containers made between two looks for dead rings: what a run remembers is alive, and to go through it takes long.
_BEFORE_A_LOOK = 200_000


class Drive:
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
        self.looks: Looks = []
        # How late the generator itself was, in milliseconds: a part of every response time.
        self._late: list[float] = []

    def run(
        self,
        birth: Callable[[int], Life] | None = None,
        meanwhile: Callable[[Run], None] | None = None,
        warm_calls: int = 0,
    ) -> Summary:
        # Tasks of every family, and free play, which alone meets all products in one episode.
        tasks = (*self.target.families(self.product), None)
        self.target.warm(tasks, self.world)
        post = Post(self.target.url, self.target.token, tasks, self.world, self.product)
        born = birth or (lambda number: live(post, number))
        run = Run(Schedule(self.shape), self.recorder, born, self.episodes_each, warm_calls)
        user_class = type(
            f"{(self.product or 'mixed').title()}User",
            (ShiftUser,),
            {"run_": run, "host": self.target.url, "abstract": False},
        )
        environment = Environment(user_classes=[user_class], catch_exceptions=False)
        runner = environment.create_local_runner()
        run.began = time.perf_counter()
        runner.start(self.users, spawn_rate=self.users)
        self._await_ready(run)
        gc.freeze()
        gc.set_threshold(_BEFORE_A_LOOK, 10, 100)
        watch = Watch(self.target)
        own, busy = cpu_seconds(os.getpid()), busy_seconds()
        run.start_clock()
        beating = threading.Thread(target=self._beat, daemon=True)
        beating.start()
        try:
            if meanwhile is not None:
                meanwhile(run)
            self._await_end(runner, run, watch)
        finally:
            ended = run.now()
            self._is_over.set()
            run.may_leave.set()
            beating.join()
            own_share = (cpu_seconds(os.getpid()) - own) / max(ended, 1e-9)
            share = (busy_seconds() - busy) / max(ended, 1e-9) / (os.cpu_count() or 1)
            runner.quit()
        return self._summary(run, own_share, share)

    def _await_ready(self, run: Run) -> None:
        while run.ready < self.users:
            if run.now() > _OPENING_SECONDS:
                raise NotReady(f"only {run.ready} of {self.users} users could open their episodes")
            time.sleep(0.05)

    def _await_end(self, runner: object, run: Run, watch: Watch) -> None:
        deadline = self.shape.seconds + _DRAIN_SECONDS
        while run.now() < deadline and run.finished < self.users:
            time.sleep(0.05)
        self._is_over.set()
        self.looks = [(at - run.began, gauge) for at, gauge in watch.end()]
        run.may_leave.set()
        while run.now() < deadline + _DRAIN_SECONDS and getattr(runner, "user_count", 0) > 0:
            time.sleep(0.1)

    def _beat(self) -> None:
        while not self._is_over.is_set():
            before = time.perf_counter()
            time.sleep(_BEAT_SECONDS)
            self._late.append((time.perf_counter() - before - _BEAT_SECONDS) * 1000)

    def _summary(self, run: Run, own_share: float, machine_share: float) -> Summary:
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
            responses=Spread.of(sample.milliseconds for sample in samples),
            prompt=Spread.of(sample.milliseconds for sample in samples if sample.is_prompt),
            service=Spread.of(sample.service_milliseconds for sample in samples),
            by_name=spreads_by_name(samples),
            # A life may fail without a wrong status, by an unscored verdict: that is an error too.
            errors=max(errors, len(self.recorder.troubles)),
            stale_reads=len(self.recorder.wrong),
            lives=self.recorder.lives,
            episodes_left=self.target.open_episodes(),
            error_kinds=kinds_of(self.recorder.troubles),
            wrong=[wrong.what for wrong in self.recorder.wrong[:20]],
            strain=self._strain(len(samples), own_share, machine_share),
            timeline=timeline(samples),
        )

    def _strain(self, requests: int, own_share: float, machine_share: float) -> Strain:
        (_, first), (_, last) = self.looks[0], self.looks[-1]
        late = Spread.of(self._late).p99
        if not self.target.pids():
            return Strain(None, None, None, own_share, machine_cpu_share=machine_share, generator_late_ms=late)
        warm, end = self._quarter(1), self._quarter(3)
        growth = sum(end.values()) / sum(warm.values()) - 1 if warm and end else None
        return Strain(
            cpu_us_per_request=(last.cpu_seconds - first.cpu_seconds) / max(requests, 1) * 1e6,
            cpu_by_service={
                name: (spent - first.by_name.get(name, 0.0)) / max(requests, 1) * 1e6
                for name, spent in sorted(last.by_name.items())
            },
            memory_mb=max(gauge.memory_mb for _, gauge in self.looks),
            memory_growth=growth,
            growth_by_service={
                name: round(end.get(name, 0.0) - warm.get(name, 0.0), 1) for name in sorted({*warm, *end})
            },
            memory_by_service={name: round(held) for name, held in sorted(last.memory_by_name.items())},
            generator_cpu_share=own_share,
            open_files=last.open_files,
            machine_cpu_share=machine_share,
            generator_late_ms=late,
        )

    def _quarter(self, number: int) -> dict[str, float]:
        """Memory of each service in a quarter of the run, on average: how many sandboxes live at a moment is chance."""
        quarter = self.shape.seconds / 4
        looks = [one.memory_by_name for at, one in self.looks if number * quarter <= at < (number + 1) * quarter]
        names = {name for look in looks for name in look}
        return {name: fmean(look.get(name, 0.0) for look in looks) for name in names}
