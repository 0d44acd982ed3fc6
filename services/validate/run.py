"""`python -m services validate`: every family at many seeds, in parallel, resumable."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dayshift.errors import DayshiftError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fixtures.tasks.family import SPLITS, Split
from fixtures.tasks.registry import families, family
from services.kernel.config import BadSetting
from services.kernel.garbage_collection import tune_garbage_collector
from services.validate.attempt import TrialContext
from services.validate.in_process_stack import InProcessStack
from services.validate.page import write_page
from services.validate.promises import PromiseResult, Trial, chance_reward, check_promises, task_of
from services.validate.summary import Summary, show

_ROOT = Path(__file__).resolve().parents[2]
# What a result depends on beside the worlds: rather too much than too little.
_SOURCES = ("env_client/dayshift", "fixtures", "services")
# Each holds a stack of its own, some 300 MB, and a replay cache of its own: more processes than cores are slower.
_MOST_PROCESSES = 8
# Of families whose verdict runs a test suite, which takes some seconds each time; `make upstream` and `make
# service-bugs` try every instance of theirs.
SEEDS_OF_A_SUITE = 2


@dataclass(frozen=True, slots=True)
class Job:
    """One family at one seed of one split."""

    family: str
    seed: int
    split: Split


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a job: every promise, what chance earned, and a digest of the task itself."""

    job: Job
    promises: tuple[PromiseResult, ...]
    chance: float | None
    task: str

    def as_line(self, key: str) -> str:
        return json.dumps({"key": key, **asdict(self)})

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Result":
        return cls(
            Job(**line["job"]),
            tuple(PromiseResult(**result) for result in line["promises"]),
            line["chance"],
            line["task"],
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for on the command line."""

    var: Path
    world: str
    families: tuple[str, ...]
    seeds: int
    resume: bool
    processes: int

    @property
    def reports(self) -> Path:
        return self.var / "reports"

    @property
    def record(self) -> Path:
        return self.reports / "validate.jsonl"

    def jobs(self) -> list[Job]:
        """Seeds take the splits in turn, so that all of them are tried."""
        return [
            Job(task_family.id, seed // len(splits), splits[seed % len(splits)])
            for task_family in (family(chosen) for chosen in self.families)
            for splits in [[split for split in SPLITS if split in task_family.splits]]
            for seed in range(min(self.seeds, SEEDS_OF_A_SUITE) if task_family.runs_a_suite else self.seeds)
        ]


def validate(plan: Plan, console: Console) -> int:
    key = _key(plan)
    plan.reports.mkdir(parents=True, exist_ok=True)
    recorded = {result.job: result for result in _read_recorded(plan, key)} if plan.resume else {}
    jobs = plan.jobs()
    results = [recorded[job] for job in jobs if job in recorded]
    remaining = [job for job in jobs if job not in recorded]
    with plan.record.open("a" if plan.resume else "w") as record, _bar(console) as bar:
        progress = bar.add_task("validating", total=len(jobs), completed=len(results))
        for result in _run_jobs(plan, remaining):
            record.write(result.as_line(key) + "\n")
            record.flush()
            results.append(result)
            bar.update(progress, advance=1, description=result.job.family)
    summaries = [
        Summary.of(chosen, [result for result in results if result.job.family == chosen]) for chosen in plan.families
    ]
    show(console, summaries)
    page = write_page(plan.reports / "validate.html", summaries, plan.world)
    console.print(f"[dim]{page}[/dim]")
    return 0 if all(summary.passed for summary in summaries) else 1


def plan_for(
    var: Path, names: Iterable[str], seeds: int, world: str, *, resume: bool, processes: int | None = None
) -> Plan:
    catalogue = families()
    named = tuple(names) or tuple(catalogue)
    unknown = [name for name in named if name not in catalogue]
    if unknown:
        raise BadSetting(f"no family is called {', '.join(unknown)}; there are {', '.join(catalogue)}")
    if seeds < 1:
        raise BadSetting("--seeds must be at least 1")
    lacking = [f"{product}-{world}" for product in _products(named) if not _world(var, product, world).exists()]
    if lacking:
        raise BadSetting(f"no world file {', '.join(lacking)} in {var / 'worlds'}: run make worlds")
    return Plan(var, world, named, seeds, resume, processes or min(os.cpu_count() or 1, _MOST_PROCESSES))


_stack: InProcessStack | None = None


def _start_stack(var: Path, products: tuple[str, ...], world: str) -> None:
    global _stack  # noqa: PLW0603 - one stack per worker process, for as long as it lives
    _stack = InProcessStack(var, products, world)
    tune_garbage_collector()


def _work(job: Job, world: str) -> Result:
    assert _stack is not None, "started by the initializer of the worker"
    trial = Trial(TrialContext(_stack, world, job.split), family(job.family), job.seed)
    promises = check_promises(trial)
    try:
        return Result(job, tuple(promises), chance_reward(trial), task_of(trial))
    except DayshiftError as error:
        broken = PromiseResult("chance_is_judged", held=False, because=f"{type(error).__name__}: {error}")
        return Result(job, (*promises, broken), None, task_of(trial))


def _run_jobs(plan: Plan, jobs: list[Job]) -> Iterator[Result]:
    if not jobs:
        return
    start = (plan.var, _products(plan.families), plan.world)
    with ProcessPoolExecutor(plan.processes, get_context("spawn"), initializer=_start_stack, initargs=start) as pool:
        for done in as_completed([pool.submit(_work, job, plan.world) for job in jobs]):
            yield done.result()


def _read_recorded(plan: Plan, key: str) -> Iterator[Result]:
    """Results that were good and still count; what failed is tried again."""
    if not plan.record.exists():
        return
    for line in plan.record.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        result = Result.of(record) if record["key"] == key else None
        if result is not None and all(promise.held for promise in result.promises):
            yield result


def _key(plan: Plan) -> str:
    """Changes with the worlds and with everything that judges."""
    digest = hashlib.sha256()
    for product in _products(plan.families):
        digest.update(_world(plan.var, product, plan.world).read_bytes())
    digest.update(print_of_sources(_ROOT))
    return digest.hexdigest()[:16]


def print_of_sources(root: Path) -> bytes:
    """Every file counts, whatever its kind: tasks, customers and action spaces are told in JSON."""
    digest = hashlib.sha256()
    for path in sorted(path for source in _SOURCES for path in (root / source).rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    return digest.digest()


def _products(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({product for name in names for product in family(name).products}))


def _world(var: Path, product: str, world: str) -> Path:
    return var / "worlds" / f"{product}-{world}.sqlite"


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description:30.30}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)
