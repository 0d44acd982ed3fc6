"""Episodes of one product process: credential → episode → fork; leases, fencing, idempotency, steps."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from services.kernel import credentials
from services.kernel.answers import Answer
from services.kernel.clock import TICK_MS
from services.kernel.concurrent_edits import ConcurrentEdit
from services.kernel.errors import Unavailable
from services.kernel.faults import Fault, FaultPlan
from services.kernel.forks import Fork, Forks
from services.kernel.product import Product
from services.kernel.template import Template
from services.kernel.unknown_credentials import UnknownCredentials
from services.kernel.world import World

_KEYS_KEPT = 10_000
_FREE_PLAY_STEPS_KEPT = 500
_FENCED_RETRY_AFTER = 1
# The most requests between two waits that a client may count in free play, and the digits of a count.
_FREE_PLAY_COUNT, _LONGEST_COUNT = 10_000, 9


class UnknownWorld(LookupError):
    """No world file of that name was built for this product."""


class UnknownEpisode(LookupError):
    """This process does not hold that episode."""


class EpisodeExists(ValueError):
    """An episode of that id is open already."""


class Step(NamedTuple):
    """One call as it was served: request, answer, revision and time; made with every request, so made cheaply."""

    operation: str
    method: str
    path: str
    query: str
    body: bytes
    answer: Answer
    revision: int
    clock_ms: int
    fault: Fault | None
    milliseconds: float
    key: str | None
    replayed: bool


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The first answer to an Idempotency-Key, and the digest of its request."""

    request: bytes
    answer: Answer


@dataclass(frozen=True, slots=True)
class Opening:
    """What control sends when it opens an episode here."""

    id: str
    credential: str = field(repr=False)
    seed: int
    world: str
    faults: str = "none"
    steps: int | None = None
    leased: bool = True
    # The playground can be entered with several.
    further_credentials: tuple[str, ...] = field(default=(), repr=False)


@dataclass(eq=False)
class Episode:
    """One attempt at a task, as this product sees it."""

    opening: Opening
    digests: tuple[bytes, ...]
    fork: Fork
    world: World
    plan: FaultPlan
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    steps: int = 0
    planted: int = 0
    closed: bool = False
    broken: str | None = None
    # It broke on the agent's own request, or on what the agent had written.
    broken_by_agent: bool = False
    touched: float = 0.0
    trajectory: list[Step] = field(default_factory=list)
    # How many steps came before those of the trajectory.
    steps_dropped: int = 0
    answers: dict[str, FirstAnswer] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    concurrent_edits: list[ConcurrentEdit] = field(default_factory=list)
    # The time at which control last set the clocks of all products of the episode to the same time.
    synchronized_ms: int = 0
    hold: "Hold | None" = None

    def __post_init__(self) -> None:
        self.synchronized_ms = self.world.clock.now_ms()

    @property
    def id(self) -> str:
        return self.opening.id

    @property
    def is_out_of_steps(self) -> bool:
        return self.opening.steps is not None and self.steps >= self.opening.steps

    def tick(self, number: bytes | None) -> None:
        """Moves the clock for one request.

        `number` counts the requests to all products since their clocks were last set to the same time. A client that
        sends it sees one clock in all of them; without it, this product's clock counts its own requests.
        """
        # More than the episode has requests is no count of them.
        limit = _FREE_PLAY_COUNT if self.opening.steps is None else self.opening.steps
        is_count = number is not None and len(number) <= _LONGEST_COUNT and number.isdigit() and int(number) <= limit
        self.world.clock.tick(self.synchronized_ms + int(number or 0) * TICK_MS if is_count else 0)

    def record(self, step: Step) -> None:
        """Free play has no verdict and no end, so it keeps only the last steps."""
        self.trajectory.append(step)
        if self.opening.steps is None and len(self.trajectory) > 2 * _FREE_PLAY_STEPS_KEPT:
            self.steps_dropped += len(self.trajectory) - _FREE_PLAY_STEPS_KEPT
            del self.trajectory[:-_FREE_PLAY_STEPS_KEPT]

    def remember(self, key: str, first: FirstAnswer) -> None:
        while len(self.answers) >= _KEYS_KEPT:
            self.answers.pop(next(iter(self.answers)))
        self.answers[key] = first

    def break_down(self, cause: str, *, by_agent: bool = False) -> None:
        """Keeps the first cause, and who brought it about: later failures follow from it."""
        if self.broken is None:
            self.broken, self.broken_by_agent = cause, by_agent


@dataclass(frozen=True, slots=True)
class Hold:
    """Somebody has stopped the agent: its requests wait until the hold is released."""

    released: asyncio.Event = field(default_factory=asyncio.Event)
    # The digest of the credential of a person who has taken over, whose requests are served.
    admitted: bytes | None = None


class Worlds:
    """The world files of one product, verified and held open."""

    def __init__(self, product: Product, folder: Path, only: tuple[str, ...] = ()) -> None:
        self._forks: dict[str, Forks] = {}
        for path in sorted(folder.glob(f"{product.name}-*.sqlite")):
            name = path.stem.removeprefix(f"{product.name}-")
            if not only or name in only:
                template = Template(path, product.schema)
                template.verify()
                self._forks[name] = Forks(template)

    def __iter__(self) -> Iterator[tuple[str, Forks]]:
        return iter(self._forks.items())

    def forks_of(self, name: str) -> Forks:
        if name not in self._forks:
            raise UnknownWorld(
                f"no world is called {name!r}; there are {', '.join(self._forks) or 'none: run make worlds'}"
            )
        return self._forks[name]

    def fingerprints(self) -> dict[str, str]:
        return {name: forks.template.fingerprint for name, forks in self._forks.items()}

    def close(self) -> None:
        for forks in self._forks.values():
            forks.close()
            forks.template.close()


class Episodes:
    """All open episodes of one product process."""

    def __init__(
        self,
        product: Product,
        worlds: Worlds,
        lease_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.product = product
        self.worlds = worlds
        self._lease_seconds = lease_seconds
        self._now = now
        self._registered_until = float("inf")
        self._listed_at = float("-inf")
        self._by_id: dict[str, Episode] = {}
        self._by_digest: dict[bytes, Episode] = {}
        self.unknown_credentials = UnknownCredentials()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Episode]:
        return iter(tuple(self._by_id.values()))

    def open(self, opening: Opening) -> Episode:
        digests = tuple(map(credentials.digest, (opening.credential, *opening.further_credentials)))
        if opening.id in self._by_id or any(digest in self._by_digest for digest in digests):
            raise EpisodeExists(f"episode {opening.id} is open already")
        plan = FaultPlan(opening.faults, opening.seed, self.product.name)
        fork = self.worlds.forks_of(opening.world).take()
        world = World(fork, opening.seed)
        world.search_lag = plan.rates.search_lag
        episode = Episode(opening, digests, fork, world, plan, touched=self._now())
        self._by_id[opening.id] = episode
        self._by_digest |= dict.fromkeys(digests, episode)
        return episode

    def hold(self, episode: Episode, credential: str | None = None) -> None:
        """Lets the agent's requests wait; whoever has this further credential is served meanwhile."""
        admitted = None
        if credential is not None:
            admitted = credentials.digest(credential)
            if self._by_digest.setdefault(admitted, episode) is not episode:
                raise EpisodeExists("another episode has this credential")
            episode.digests = (*episode.digests, admitted)
        held = episode.hold
        # Requests that wait already go on waiting for the same event.
        episode.hold = Hold(admitted=admitted) if held is None else Hold(held.released, admitted)

    def release(self, episode: Episode) -> None:
        """Serves the agent's requests again, in the order in which they came; a person's credential ends here."""
        hold, episode.hold = episode.hold, None
        if hold is None:
            return
        if hold.admitted is not None:
            episode.digests = tuple(digest for digest in episode.digests if digest != hold.admitted)
            self._by_digest.pop(hold.admitted, None)
            self.unknown_credentials.retire(hold.admitted)
        episode.touched = self._now()
        hold.released.set()

    def stay_registered(self, seconds: float) -> None:
        """The registry or control has just confirmed that this process owns its episodes."""
        self._registered_until = self._now() + seconds

    def by_credential(self, credential: str, address: str | None = None) -> Episode | None:
        now = self._now()
        if now > self._registered_until:
            # This process was paused or cut off, and control may have ended its episodes: it serves nothing meanwhile.
            raise Unavailable(_FENCED_RETRY_AFTER)
        digest = credentials.digest(credential)
        episode = self._by_digest.get(digest)
        if episode is None:
            self.unknown_credentials.record_refused(digest, address)
            return None
        self.unknown_credentials.record_served(episode.id, address)
        episode.touched = now
        return episode

    def by_id(self, episode_id: str) -> Episode:
        if episode_id not in self._by_id:
            raise UnknownEpisode(f"episode {episode_id} is not open here")
        return self._by_id[episode_id]

    def close(self, episode: Episode) -> None:
        """Closes the episode before it gives the fork back, so that a request that waits for the lock is refused."""
        if episode.closed:
            return
        # Whoever waits is refused as after any ending.
        self.release(episode)
        episode.closed = True
        self._by_id.pop(episode.id)
        for digest in episode.digests:
            self._by_digest.pop(digest)
            self.unknown_credentials.forget_episode(episode.id, digest)
        self.product.on_close(episode.world)
        self.worlds.forks_of(episode.opening.world).give_back(episode.fork)

    def idle(self, episode: Episode) -> float:
        return self._now() - episode.touched

    def list_for_control(self) -> None:
        """Control has asked what is open: it watches the leases, and knows of work that this product does not see."""
        self._listed_at = self._now()

    def overdue(self) -> list[Episode]:
        limit = self._now() - self._lease_seconds
        if self._listed_at >= limit:
            return []
        return [
            episode for episode in self if episode.opening.leased and episode.touched < limit and episode.hold is None
        ]
