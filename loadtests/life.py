"""A whole episode: open, work, submit, close."""

import random  # noqa: TID251 - a load generator, not a world; seeded
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from dayshift.wire import Opened, OpenRequest, ProductAccess, Verdict

from loadtests.asking import Answer, Ask, Failed, Life, expected
from loadtests.billing import billing_shift
from loadtests.crm import crm_shift
from loadtests.desk import desk_shift
from loadtests.ide import ide_shift

Work = Generator[Ask, Answer, None]
# Work on one product without end, checking every answer against what was written before.
Shift = Callable[[ProductAccess, random.Random, str], Work]
SHIFTS: Mapping[str, Shift] = {"billing": billing_shift, "crm": crm_shift, "desk": desk_shift, "ide": ide_shift}
_FREE_PLAY_CALLS = 40


@dataclass(frozen=True, slots=True)
class Post:
    """Where control is, and which episodes are to be lived there."""

    url: str
    token: str = field(repr=False)
    tasks: tuple[str | None, ...] = (None,)
    world: str = "standard"
    # Work at this product alone; everywhere if none is named.
    product: str | None = None

    def ask(self, name: str, method: str, path: str, body: bytes | None = None, episode: str = "") -> Ask:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        return Ask(f"control {name}", method, self.url + path, headers, body, frozenset({200, 201}), episode)


def live(post: Post, seed: int) -> Life:
    """One episode from its opening to its end; an unscored verdict of a task is a failure of the house."""
    chance = random.Random(seed)  # noqa: S311 - a load generator
    task = chance.choice(post.tasks)
    request = OpenRequest(task=task, seed=seed, world=post.world)
    opened = Opened.model_validate_json(
        (yield from expected(post.ask("open", "POST", "/v1/episodes", request.model_dump_json().encode()))).body
    )
    try:
        yield from _work(post, opened, chance)
        submit = post.ask("submit", "POST", f"/v1/episodes/{opened.episode_id}/submit", b"{}", opened.episode_id)
        answer = yield from expected(submit)
        verdict = Verdict.model_validate_json(answer.body)
        if task is not None and verdict.outcome == "unscored":
            raise Failed(submit, Answer(answer.status, {}, b"", f"unscored: {verdict.because}"))
    finally:
        # The end of a life that failed, or was cut short by the end of the run, gives the episode back too.
        yield post.ask("close", "POST", f"/v1/episodes/{opened.episode_id}/close", b"", opened.episode_id)


def endless(post: Post, seed: int) -> Life:
    """Free play that goes on until the run is over: product requests and nothing else."""
    chance = random.Random(seed)  # noqa: S311 - a load generator
    request = OpenRequest(task=None, seed=seed, world=post.world)
    answer = yield from expected(post.ask("open", "POST", "/v1/episodes", request.model_dump_json().encode()))
    opened = Opened.model_validate_json(answer.body)
    try:
        yield from _work(post, opened, chance, calls=sys.maxsize)
    finally:
        yield post.ask("close", "POST", f"/v1/episodes/{opened.episode_id}/close", b"", opened.episode_id)


def _work(post: Post, opened: Opened, chance: random.Random, calls: int | None = None) -> Work:
    """A mixed shift: as many calls as the budget allows, each at one of the products."""
    chosen = [name for name in opened.products if name in SHIFTS and post.product in (None, name)]
    shifts = [SHIFTS[product](opened.products[product], chance, opened.episode_id) for product in chosen]
    # Of uneven length, so that the openings and endings of many lives do not fall together.
    most = _FREE_PLAY_CALLS if opened.budget is None else opened.budget.steps
    calls = calls or chance.randint(most // 2, most)
    asks = [next(shift) for shift in shifts]
    for _ in range(calls):
        at = chance.randrange(len(shifts))
        answer = yield from expected(asks[at])
        asks[at] = shifts[at].send(answer)
