"""Stage: where teams play: episodes are opened, guarded against faults, seen by each level, and recorded."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypedDict

import gymnasium

from dayshift.asking import orchestrator_operations
from dayshift.calls import ORCHESTRATOR
from dayshift.entrance import Entrance
from dayshift.env import Observation, OnFault, observe
from dayshift.errors import HarnessFault, Misuse
from dayshift.operations import Catalogue
from dayshift.recorder import Recorder
from dayshift.spaces import LONGEST_BODY
from dayshift.team import USUAL_TURNS, Assignment, Overview, Team
from dayshift.trajectory import Quarantine
from dayshift.wire import OpenRequest, Split

# An action is a call, or `{"operation": …, "arguments": …}`.
Specialist = Callable[[Assignment], object]
Orchestrator = Callable[[Overview], object]


class TeamInfo(TypedDict):
    """What the trainer sees besides. The same calls in the same episode give the same info."""

    agent: str
    task: str
    seed: int
    split: str
    # Of the worlds this episode started from.
    fingerprint: str
    # Of this agent's last call; empty before the first.
    operation: str
    # It was declined, or could not be written.
    refused: bool
    # At the end of a scored episode: all findings, and what each level earned.
    verdict: dict[str, Any] | None
    rewards: dict[str, float]
    # Why nobody has a reward; only with on_fault="quarantine". Do not learn from it, at either level.
    quarantined: str | None


class Stage:
    """One team at a time; what is the same for an orchestrator's, a specialist's and a common environment."""

    def __init__(
        self,
        *,
        task: str | None = None,
        split: Split = "train",
        world: str = "standard",
        faults: str = "none",
        control_url: str | None = None,
        on_fault: OnFault = "raise",
        recorder: Recorder | None = None,
        longest_body: int = LONGEST_BODY,
        timeout: float = 30.0,
        turns: int = USUAL_TURNS,
        families: str = "office/",
    ) -> None:
        asked = OpenRequest(task=task, split=split, world=world, faults=faults)
        self._entrance = Entrance(asked, (), control_url, timeout, families)
        self._on_fault = on_fault
        self._recorder = recorder
        self._turns = turns
        self._team: Team | None = None
        self._quarantined: str | None = None
        self.longest_body = longest_body
        self.products = tuple(sorted({one.product for one in self._entrance.operations.values() if one.product}))

    @property
    def team(self) -> Team:
        if self._team is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self._team

    @property
    def over(self) -> bool:
        return self.team.over or self._quarantined is not None

    @property
    def submitted(self) -> bool:
        """The orchestrator ended it; otherwise a budget or a fault did."""
        return self.over and self._quarantined is None and not self.team.cut

    def operations(self, agent: str) -> Catalogue:
        """All that this agent may ever call; the same in every episode."""
        if agent == ORCHESTRATOR:
            return orchestrator_operations(self.products)
        return self._entrance.operations.of_product(agent)

    def begin(self, seed: int, options: Mapping[str, Any]) -> None:
        self.leave()
        self._quarantined = None
        self._team = Team(self._entrance.open(seed, options), self._turns)

    def act(self, action: object) -> None:
        """For whoever's turn it is."""
        if self.over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset")
        with self._guarded():
            self.team.act(action)

    def play(self, until: str, orchestrator: Orchestrator | None, specialists: Mapping[str, Specialist]) -> None:
        """Lets the given policies act until it is this agent's turn, or the end."""
        while not self.over and self.team.whose != until:
            with self._guarded():
                self.team.act(self._decided(orchestrator, specialists))

    def reward(self, agent: str) -> float:
        """0.0 before the end, and where nobody has a reward."""
        return self.team.rewards.get(agent, 0.0) if self.over and self._quarantined is None else 0.0

    def observation(self, agent: str) -> Observation:
        clock, longest = self.team.episode.clock, self.longest_body
        if agent == ORCHESTRATOR:
            overview = self.team.overview()
            return observe(overview.brief, overview.last, clock, overview.turns_left, longest)
        if agent not in self.team.specialists:
            return observe("", None, clock, 0, longest)
        assignment = self.team.assignment(agent)
        return observe(assignment.request, assignment.last, clock, assignment.steps_left, longest)

    def info(self, agent: str) -> TeamInfo:
        dialogue = self.team.episode.dialogue
        verdict, last = self.team.episode.verdict, self._last(agent)
        scored = verdict is not None and self._quarantined is None
        return TeamInfo(
            agent=agent,
            task=dialogue.request.task or "",
            seed=dialogue.request.seed,
            split=dialogue.request.split,
            fingerprint=dialogue.opened.fingerprint,
            operation=last[0],
            refused=last[1],
            verdict=verdict.model_dump() if verdict is not None and scored else None,
            rewards=self.team.rewards if scored else {},
            quarantined=self._quarantined,
        )

    def leave(self) -> None:
        if self._team is not None:
            self._team.episode.close()
            self._team = None

    def close(self) -> None:
        self.leave()
        self._entrance.close()

    def _decided(self, orchestrator: Orchestrator | None, specialists: Mapping[str, Specialist]) -> object:
        whose = self.team.whose
        if whose == ORCHESTRATOR:
            assert orchestrator is not None, "only a specialist's environment lets an orchestrator act"
            return orchestrator(self.team.overview())
        if whose not in specialists:
            raise Misuse(f"nobody was given who works with {whose}; specialists={{{whose!r}: …}}")
        return specialists[whose](self.team.assignment(whose))

    def _last(self, agent: str) -> tuple[str, bool]:
        if agent == ORCHESTRATOR:
            turns = self.team.turns
            return (turns[-1].operation, not 200 <= turns[-1].status < 400) if turns else ("", False)
        own = [one for one in self.team.episode.exchanges if one.actor == agent]
        return (own[-1].call.operation, own[-1].refused) if own else ("", False)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """A fault of the house, or a bug of a policy, leaves both levels without a reward."""
        try:
            yield
        except HarnessFault as fault:
            self._give_up(Quarantine(blame="harness", kind=fault.kind, because=str(fault)), fault)
        except Exception as error:  # noqa: BLE001 - whatever a policy raises ends its own episode alone
            self._give_up(Quarantine(blame="policy", kind=type(error).__name__, because=str(error)), error)
        else:
            if self.team.over:
                self._record(None)

    def _give_up(self, quarantine: Quarantine, error: Exception) -> None:
        self._quarantined = f"{quarantine.kind}: {quarantine.because}"
        self._record(quarantine)
        if self._on_fault == "raise":
            raise error

    def _record(self, quarantine: Quarantine | None) -> None:
        if self._recorder is not None:
            self._recorder.record(self.team.trajectory(quarantine))
