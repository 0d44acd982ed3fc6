"""TeamRunner: opens a team's episodes, handles their failures, and records them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NotRequired, TypedDict

import gymnasium

from dayshift.calls import ORCHESTRATOR
from dayshift.delegation import orchestrator_operations
from dayshift.env import OnFault
from dayshift.episode_opener import EpisodeOpener
from dayshift.errors import HarnessFault, UsageError
from dayshift.http_flow import ANSWER_SECONDS
from dayshift.observation import Observation, build_observation, dump_verdict
from dayshift.open_request import open_request
from dayshift.operations import Catalogue
from dayshift.recorder import EpisodeRecorder
from dayshift.spaces import MAX_BODY_CHARS
from dayshift.team import DEFAULT_TURNS, OrchestratorInput, SpecialistInput, Team
from dayshift.trajectory import Quarantine
from dayshift.wire import Split

# Both return an action: a call, or `{"operation": …, "arguments": …}`.
Specialist = Callable[[SpecialistInput], object]
Orchestrator = Callable[[OrchestratorInput], object]


class TeamInfo(TypedDict):
    """What the trainer sees in addition. The same calls in the same episode give the same info; no value is None."""

    agent: str
    task: str
    seed: int
    split: str
    # The fingerprint of the worlds that the episode started from.
    fingerprint: str
    # The operation of this agent's last call; empty before the first.
    operation: str
    # The last call was declined or malformed.
    refused: bool
    # The reward of each agent; empty before the end of a scored episode.
    rewards: dict[str, float]
    # The verdict with all its findings, at the end of a scored episode.
    verdict: NotRequired[dict[str, Any]]
    # Why no agent has a reward; only with on_fault="quarantine". Do not learn from it, at either level.
    quarantined: NotRequired[str]


class TeamOptions(TypedDict, total=False):
    """The options of a team's environments; `TeamRunner` holds their defaults."""

    task: str | None
    split: Split
    world: str
    faults: str
    control_url: str | None
    on_fault: OnFault
    recorder: EpisodeRecorder | None
    max_body_chars: int
    timeout: float
    turns: int
    families: str


class TeamRunner:
    """Runs one team at a time, for the environments of an orchestrator, of a specialist and of a whole team."""

    def __init__(
        self,
        *,
        task: str | None = None,
        split: Split = "train",
        world: str = "standard",
        faults: str = "none",
        control_url: str | None = None,
        on_fault: OnFault = "raise",
        recorder: EpisodeRecorder | None = None,
        max_body_chars: int = MAX_BODY_CHARS,
        timeout: float = ANSWER_SECONDS,
        turns: int = DEFAULT_TURNS,
        families: str = "office/",
    ) -> None:
        defaults = open_request(task=task, split=split, world=world, faults=faults)
        self._opener = EpisodeOpener(defaults, (), control_url, timeout, families)
        self._on_fault = on_fault
        self._recorder = recorder
        self._turns = turns
        self._team: Team | None = None
        self._quarantined: str | None = None
        self.max_body_chars = max_body_chars
        operations = self._opener.operations.values()
        self.products = tuple(
            sorted({operation.product for operation in operations if not operation.belongs_to_harness})
        )

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
        """True if the orchestrator ended the episode, and not a budget or a fault."""
        return self.over and self._quarantined is None and not self.team.truncated

    def operations(self, agent: str) -> Catalogue:
        """Returns the operations of an agent, which are the same in every episode."""
        if agent == ORCHESTRATOR:
            return orchestrator_operations(self.products)
        return self._opener.operations.of_product(agent)

    def open_episode(self, seed: int, options: Mapping[str, object]) -> None:
        self.close_episode()
        self._quarantined = None
        self._team = Team(self._opener.open(seed, options), self._turns)

    def act(self, action: object) -> None:
        """Makes the current agent's action."""
        if self.over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset")
        with self._handle_failures():
            self.team.act(action)

    def play_until(self, agent: str, orchestrator: Orchestrator | None, specialists: Mapping[str, Specialist]) -> None:
        """Lets the given policies act until it is this agent's turn, or until the episode is over."""
        while not self.over and self.team.current_agent != agent:
            with self._handle_failures():
                self.team.act(self._choose_action(orchestrator, specialists))

    def reward(self, agent: str) -> float:
        """Returns the agent's reward; 0.0 before the end, and where the episode has no reward."""
        return self.team.rewards.get(agent, 0.0) if self.over and self._quarantined is None else 0.0

    def observation(self, agent: str) -> Observation:
        clock, max_chars = self.team.episode.clock, self.max_body_chars
        if agent == ORCHESTRATOR:
            lead = self.team.orchestrator_input()
            return build_observation(lead.brief, lead.last, clock, lead.turns_left, max_chars)
        if agent not in self.team.specialists:
            return build_observation("", None, clock, 0, max_chars)
        own = self.team.specialist_input(agent)
        return build_observation(own.request, own.last, clock, own.steps_left, max_chars)

    def info(self, agent: str) -> TeamInfo:
        protocol = self.team.episode.protocol
        verdict = self.team.episode.verdict if self._quarantined is None else None
        operation, refused = self._last_call(agent)
        info = TeamInfo(
            agent=agent,
            task=protocol.request.task or "",
            seed=protocol.request.seed,
            split=protocol.request.split,
            fingerprint=protocol.opened.fingerprint,
            operation=operation,
            refused=refused,
            rewards={} if verdict is None else self.team.rewards,
        )
        if verdict is not None:
            info["verdict"] = dump_verdict(verdict)
        if self._quarantined is not None:
            info["quarantined"] = self._quarantined
        return info

    def close_episode(self) -> None:
        if self._team is not None:
            self._team.episode.close()
            self._team = None

    def close(self) -> None:
        self.close_episode()
        self._opener.close()

    def _choose_action(self, orchestrator: Orchestrator | None, specialists: Mapping[str, Specialist]) -> object:
        agent = self.team.current_agent
        if agent == ORCHESTRATOR:
            assert orchestrator is not None, "only a specialist's environment lets an orchestrator act"
            return orchestrator(self.team.orchestrator_input())
        if agent not in specialists:
            raise UsageError(f"there is no specialist for {agent}; specialists={{{agent!r}: …}}")
        return specialists[agent](self.team.specialist_input(agent))

    def _last_call(self, agent: str) -> tuple[str, bool]:
        """Returns the operation of the agent's last call, and whether it was refused."""
        if agent == ORCHESTRATOR:
            turns = self.team.turns
            return (turns[-1].operation, not 200 <= turns[-1].status < 400) if turns else ("", False)
        own = [step for step in self.team.episode.steps if step.actor == agent]
        return (own[-1].call.operation, own[-1].refused) if own else ("", False)

    @contextmanager
    def _handle_failures(self) -> Iterator[None]:
        """Quarantines the episode after a harness fault or a bug of a policy: then neither level has a reward."""
        try:
            yield
        except HarnessFault as fault:
            self._quarantine(Quarantine(blame="harness", kind=fault.kind, because=str(fault)), fault)
        except Exception as error:  # noqa: BLE001 - a bug of a policy ends its own episode only
            self._quarantine(Quarantine(blame="policy", kind=type(error).__name__, because=str(error)), error)
        else:
            if self.team.over:
                self._record(None)

    def _quarantine(self, quarantine: Quarantine, error: Exception) -> None:
        self._quarantined = f"{quarantine.kind}: {quarantine.because}"
        self._record(quarantine)
        if self._on_fault == "raise":
            raise error

    def _record(self, quarantine: Quarantine | None) -> None:
        if self._recorder is not None:
            self.team.episode.fetch_diff()
            self._recorder.record(self.team.trajectory(quarantine))
