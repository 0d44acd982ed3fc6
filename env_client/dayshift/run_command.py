"""The commands `dayshift run` and `dayshift compare`."""

import argparse
import asyncio
import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any, TextIO

from dayshift.errors import UsageError
from dayshift.model_episode import Prices
from dayshift.model_run import RUN_FILE, Outage, Plan, RunLimits, RunOptions, play_run
from dayshift.models import Sampling
from dayshift.recordings import load
from dayshift.report import summarise
from dayshift.report_html import render_html
from dayshift.run_summary import compare_runs, count_tokens, render_comparison, render_run, summarise_run
from dayshift.trajectory import Trajectory

_PROGRESS_LINES = 20
# Options in which runs that are compared may differ: that is what they are compared for.
_OF_THE_MODEL = frozenset({"model", "policy_version"})


class RunProgress:
    """Says on standard error how far a run is: at each episode on a terminal, about twenty times elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._total = self._finished = self._passed = self._scored = self._tokens = 0
        self._cost = 0.0

    def start(self, plan: Plan) -> None:
        self._total = len(plan.attempts)
        skipped = f"; already played: {plan.finished}" if plan.finished else ""
        print(f"episodes to play: {self._total}, families: {len(plan.families)}{skipped}", file=self._stream)

    def count(self, trajectory: Trajectory) -> None:
        self._finished += 1
        self._scored += trajectory.scored
        self._passed += trajectory.ending == "passed"
        self._tokens += count_tokens(trajectory)
        self._cost += (trajectory.model.cost or 0.0) if trajectory.model else 0.0
        if self._stream.isatty():
            print(f"\r{self._line()}", end="", file=self._stream, flush=True)
        elif self._finished % max(1, self._total // _PROGRESS_LINES) == 0:
            print(self._line(), file=self._stream, flush=True)

    def close(self) -> None:
        if self._stream.isatty() and self._finished:
            print(file=self._stream)

    def _line(self) -> str:
        rate = f"{self._passed / self._scored:.1%}" if self._scored else "–"
        unscored = self._finished - self._scored
        cost = f", ${self._cost:.{2 if self._cost >= 1 else 4}f}" if self._cost else ""
        return (
            f"{self._finished}/{self._total} episodes, {rate} passed, {unscored} unscored, "
            f"{self._tokens:,} tokens{cost}"
        )


def run(args: argparse.Namespace) -> int:
    options = RunOptions(
        model=args.model,
        tasks=tuple(args.tasks),
        seeds=args.seeds,
        first_seed=args.first_seed,
        rollouts=args.rollouts,
        surface=args.surface,
        split=args.split,
        world=args.world,
        faults=args.faults,
        sampling=_build_sampling(args),
        max_context_tokens=args.context_tokens,
        max_answer_chars=args.answer_chars,
        policy_version=args.policy_version,
    )
    limits = RunLimits(
        concurrency=args.concurrency,
        control_url=args.control_url,
        base_url=args.base_url,
        timeout_seconds=args.timeout,
        provider_retries=args.retries,
        prices=_build_prices(args),
    )
    folder = Path(args.output or default_folder(options.model))
    try:
        asyncio.run(_play(options, limits, folder, resume=args.resume))
    except (Outage, KeyboardInterrupt) as stopped:
        _report_what_there_is(folder, options.model)
        if isinstance(stopped, KeyboardInterrupt):
            print("stopped; the same command with --resume goes on", file=sys.stderr)
        raise
    return _report(folder, options.model)


async def _play(options: RunOptions, limits: RunLimits, folder: Path, *, resume: bool) -> None:
    progress = RunProgress(sys.stderr)
    attempts = play_run(options, limits, folder, resume=resume, announce=progress.start)
    try:
        async with aclosing(attempts) as trajectories:
            async for trajectory in trajectories:
                progress.count(trajectory)
    finally:
        progress.close()


def _report_what_there_is(folder: Path, model: str) -> None:
    """Prints the results of a run that was stopped, where an episode was finished before."""
    if folder.exists() and next(load(folder), None) is not None:
        _report(folder, model)


def _report(folder: Path, model: str) -> int:
    """Prints the results.

    1 says that some are missing because this package has a bug or the stack refused them, or that there are none.
    """
    trajectories = list(load(folder, quarantined=True))
    page = folder / "report.html"
    page.write_text(render_html(summarise(trajectories), f"Dayshift: {model}"), encoding="utf-8")
    summary = summarise_run(trajectories)
    print(render_run(summary))
    print(f"recordings: {folder}\npage: {page}\nread them, step by step: dayshift view {folder}")
    return 1 if summary.client_bugs or summary.refused or not summary.total.scored else 0


def compare(args: argparse.Namespace) -> int:
    rows = compare_runs(load(args.first), load(args.second))
    if not rows:
        raise UsageError(f"{args.first} and {args.second} have no scored family in common")
    print(render_comparison(rows))
    if differences := _list_differences(Path(args.first), Path(args.second)):
        print(f"\nthe runs differ in more than the model: {', '.join(differences)}")
    return 0


def _list_differences(first: Path, second: Path) -> list[str]:
    """The options that two runs do not share, `surface core / search`; recordings of `rollouts` have none."""
    files = [folder / RUN_FILE for folder in (first, second)]
    if not all(file.exists() for file in files):
        return []
    one, other = (json.loads(file.read_text()) for file in files)
    names = [name for name in {**one, **other} if name not in _OF_THE_MODEL and one.get(name) != other.get(name)]
    return [f"{name} {_show(one.get(name))} / {_show(other.get(name))}" for name in names]


def _show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def default_folder(model: str) -> str:
    return f"runs/{''.join(letter if letter.isalnum() or letter in '-_.' else '-' for letter in model)}"


def _build_sampling(args: argparse.Namespace) -> Sampling:
    return Sampling(
        temperature=args.temperature,
        top_p=args.top_p,
        seed=args.sampling_seed,
        max_output_tokens=args.max_output_tokens,
        logprobs=args.logprobs,
        token_ids=args.token_ids,
    )


def _build_prices(args: argparse.Namespace) -> Prices | None:
    if (args.price_input is None) != (args.price_output is None):
        raise UsageError("give both --price-input and --price-output, in dollars for a million tokens")
    if args.price_cached is not None and args.price_input is None:
        raise UsageError("--price-cached needs --price-input and --price-output")
    return None if args.price_input is None else Prices(args.price_input, args.price_output, args.price_cached)
