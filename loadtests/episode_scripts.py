"""Episode scripts: a whole episode as a trainer and an agent play it: open, work, submit, close."""

import random  # noqa: TID251 - a load generator, not a world; seeded
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import cache

from dayshift.wire import Opened, OpenRequest, Verdict

from loadtests.calls import Call, EpisodeScript, Response, UnexpectedResponse, expect_success
from loadtests.workers import find_workers
from loadtests.workers.worker import Exchanges, Worker

_FREE_PLAY_CALLS = 40
_workers = cache(find_workers)


@dataclass(frozen=True, slots=True)
class Workload:
    """Where control is, and which episodes are played there."""

    url: str
    token: str = field(repr=False)
    tasks: tuple[str | None, ...] = (None,)
    world: str = "standard"
    # Work at this product alone; at all products if none is named.
    product: str | None = None

    def call(self, name: str, method: str, path: str, body: bytes | None = None, episode: str = "") -> Call:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        return Call(f"control {name}", method, self.url + path, headers, body, frozenset({200, 201}), episode)


def play_episode(workload: Workload, seed: int) -> EpisodeScript:
    """One episode from its opening to its end; an unscored verdict of a task is a failure of Dayshift."""
    chance = random.Random(seed)  # noqa: S311 - a load generator
    task = chance.choice(workload.tasks)
    opened = yield from _open(workload, OpenRequest(task=task, seed=seed, world=workload.world))
    try:
        yield from _work(workload, opened, chance)
        path = f"/v1/episodes/{opened.episode_id}/submit"
        submit = workload.call("submit", "POST", path, b"{}", opened.episode_id)
        response = yield from expect_success(submit)
        verdict = Verdict.model_validate_json(response.body)
        if task is not None and verdict.outcome == "unscored":
            raise UnexpectedResponse(submit, Response(response.status, {}, b"", f"unscored: {verdict.because}"))
    finally:
        # A script that failed, or that the end of the run cuts short, closes its episode too.
        yield _close(workload, opened)


def play_endlessly(workload: Workload, seed: int) -> EpisodeScript:
    """Free play that goes on until the run is over: product requests and nothing else."""
    chance = random.Random(seed)  # noqa: S311 - a load generator
    opened = yield from _open(workload, OpenRequest(task=None, seed=seed, world=workload.world))
    try:
        yield from _work(workload, opened, chance, calls=sys.maxsize)
    finally:
        yield _close(workload, opened)


def _open(workload: Workload, request: OpenRequest) -> Generator[Call, Response, Opened]:
    opening = workload.call("open", "POST", "/v1/episodes", request.model_dump_json().encode())
    response = yield from expect_success(opening)
    return Opened.model_validate_json(response.body)


def _close(workload: Workload, opened: Opened) -> Call:
    return workload.call("close", "POST", f"/v1/episodes/{opened.episode_id}/close", b"", opened.episode_id)


def _work(workload: Workload, opened: Opened, chance: random.Random, calls: int | None = None) -> Exchanges:
    """As many calls as the budget allows, each at one of the products."""
    kinds: Mapping[str, type[Worker]] = _workers()
    products = [name for name in opened.products if name in kinds and workload.product in (None, name)]
    workers = [kinds[product](opened.products[product], chance, opened.episode_id).work() for product in products]
    # Of uneven length, so that the openings and endings of many episodes do not fall together.
    most = _FREE_PLAY_CALLS if opened.budget is None else opened.budget.steps
    calls = calls or chance.randint(most // 2, most)
    pending = [next(worker) for worker in workers]
    for _ in range(calls):
        chosen = chance.randrange(len(workers))
        response = yield from expect_success(pending[chosen])
        pending[chosen] = workers[chosen].send(response)
