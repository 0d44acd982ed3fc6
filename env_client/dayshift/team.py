"""Team: one episode on which an orchestrator and specialists work in turn."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from dayshift.calls import ORCHESTRATOR, REPORT, SUBMIT, Call, parse_call, salvage_call
from dayshift.delegation import Delegation, orchestrator_operations, parse_delegation
from dayshift.episode import Episode
from dayshift.errors import UsageError
from dayshift.operations import Catalogue
from dayshift.step import Step
from dayshift.team_rewards import assign_rewards
from dayshift.trajectory import Quarantine, Trajectory, Turn, TurnEnd, to_json_value

DEFAULT_TURNS = 20
_OK, _NO_STATUS = 200, 0


@dataclass(frozen=True, slots=True)
class SpecialistInput:
    """Everything that a specialist knows when it chooses a call; it knows neither the brief nor the others' work."""

    product: str
    request: str
    clock: str
    steps_left: int
    # Its own steps since the request, and those for earlier requests in the same episode.
    history: Sequence[Step]
    earlier: Sequence[Step]
    operations: Catalogue

    @property
    def last(self) -> Step | None:
        return self.history[-1] if self.history else None


@dataclass(frozen=True, slots=True)
class OrchestratorInput:
    """Everything that an orchestrator knows when it chooses a call: the brief and the reports, but no product."""

    brief: str
    clock: str
    turns_left: int
    # The number of calls that all specialists together may still make.
    steps_left: int | None
    history: Sequence[Turn]
    operations: Catalogue

    @property
    def last(self) -> Turn | None:
        return self.history[-1] if self.history else None


@dataclass
class _ActiveTurn:
    """A turn of the orchestrator that has not ended yet; `first` is the number of its first step."""

    call: Call
    delegation: Delegation
    first: int
    steps_left: int


class RefusedCall(TypedDict):
    operation: str
    status: int


class DelegationResult(TypedDict):
    """What the orchestrator observes, as JSON, when a specialist's work ends."""

    report: str
    ended: TurnEnd
    steps: int
    # Of the task.
    steps_left: int | None
    refused: list[RefusedCall]


class Team:
    """Decides who acts next, what each agent sees, and what an action does.

    A specialist works until it reports or its budget is spent; the orchestrator then gets its report.
    """

    def __init__(self, episode: Episode, turns: int = DEFAULT_TURNS) -> None:
        opened = episode.protocol.opened
        self.episode = episode
        self.specialists = tuple(sorted(opened.products))
        self.operations = orchestrator_operations(self.specialists, opened.answer_schema)
        self.turns: list[Turn] = []
        # True if the budget of turns or of steps ended the episode, and not the orchestrator.
        self.truncated = False
        self._max_turns = turns
        self._active: _ActiveTurn | None = None
        self._last_delegations: dict[str, Delegation] = {}

    @property
    def current_agent(self) -> str:
        return ORCHESTRATOR if self._active is None else self._active.delegation.product

    @property
    def over(self) -> bool:
        return self.episode.over

    @property
    def turns_left(self) -> int:
        return self._max_turns - len(self.turns)

    @property
    def rewards(self) -> dict[str, float]:
        """The rewards of both levels, once there is a verdict."""
        verdict = self.episode.verdict
        return {} if verdict is None else assign_rewards(verdict, self.specialists)

    def orchestrator_input(self) -> OrchestratorInput:
        episode = self.episode
        return OrchestratorInput(
            episode.brief, episode.clock, self.turns_left, episode.steps_left, tuple(self.turns), self.operations
        )

    def specialist_input(self, product: str) -> SpecialistInput:
        """Returns what a specialist knows of its delegation; between two delegations, of the last one."""
        delegation = self._last_delegations.get(product)
        own = [step for step in self.episode.steps if step.actor == product]
        first = self._first_step_number(product)
        return SpecialistInput(
            product=product,
            request="" if delegation is None else delegation.request,
            clock=self.episode.clock,
            steps_left=self._active.steps_left if self._active is not None and self.current_agent == product else 0,
            history=[step for step in own if step.number >= first],
            earlier=[step for step in own if step.number < first],
            operations=self.episode.operations.of_product(product),
        )

    def act(self, action: object) -> None:
        """Makes the current agent's action. A harness fault is raised, and the episode is over for all agents."""
        if self._active is None:
            self._act_as_orchestrator(action)
        else:
            self._act_as_specialist(self._active, action)
        budget_spent = self.episode.steps_left == 0 or (self._active is None and self.turns_left == 0)
        if budget_spent and not self.over:
            self.truncated = True
            self.episode.act(Call(SUBMIT), ORCHESTRATOR)

    def trajectory(self, quarantine: Quarantine | None = None) -> Trajectory:
        """Returns the trajectory of both levels: its steps name their actor, its turns are the orchestrator's."""
        turns = [*self.turns]
        if self._active is not None:
            turns.append(self._build_turn(self._active, "broken", _NO_STATUS, ""))
        return Trajectory.of(self.episode.protocol, quarantine=quarantine, turns=turns, rewards=self.rewards)

    def _act_as_orchestrator(self, action: object) -> None:
        first = len(self.episode.steps) + 1
        try:
            call = parse_call(action)
            delegation = parse_delegation(Call(self.operations[call.operation].name, call.arguments))
        except UsageError as error:
            malformed = _ActiveTurn(salvage_call(action), _NO_DELEGATION, first, 0)
            self._end_turn(malformed, "misstep", _NO_STATUS, str(error))
            return
        if delegation is None:
            step = self.episode.act(call, ORCHESTRATOR)
            self._end_turn(_ActiveTurn(call, _NO_DELEGATION, first, 0), "answered", step.status, step.text)
            return
        steps_left = self.episode.steps_left
        budget = delegation.budget if steps_left is None else min(delegation.budget, steps_left)
        self._active = _ActiveTurn(call, delegation, first, budget)
        self._last_delegations[delegation.product] = delegation

    def _act_as_specialist(self, active: _ActiveTurn, action: object) -> None:
        if (report := _find_report(action)) is not None:
            self._end_delegation(active, "reported", report)
            return
        self.episode.act(action, active.delegation.product)
        active.steps_left -= 1
        if active.steps_left == 0:
            self._end_delegation(active, "spent", "")

    def _end_delegation(self, active: _ActiveTurn, ended: TurnEnd, report: str) -> None:
        steps = self.episode.steps[active.first - 1 :]
        result = DelegationResult(
            report=report,
            ended=ended,
            steps=len(steps),
            steps_left=self.episode.steps_left,
            refused=[{"operation": step.call.operation, "status": step.status} for step in steps if step.refused],
        )
        self._active = None
        self._end_turn(active, ended, _OK, json.dumps(result, ensure_ascii=False))

    def _end_turn(self, active: _ActiveTurn, ended: TurnEnd, status: int, answer: str) -> None:
        self.turns.append(self._build_turn(active, ended, status, answer))

    def _build_turn(self, active: _ActiveTurn, ended: TurnEnd, status: int, answer: str) -> Turn:
        return Turn(
            number=len(self.turns) + 1,
            operation=active.call.operation,
            arguments=to_json_value(dict(active.call.arguments)),
            asked=active.delegation.product,
            ended=ended,
            first=active.first,
            last=len(self.episode.steps),
            status=status,
            answer=answer,
            clock=self.episode.clock,
        )

    def _first_step_number(self, product: str) -> int:
        """Returns the number of the first step of this specialist's last delegation."""
        if self._active is not None and self._active.delegation.product == product:
            return self._active.first
        return next((turn.first for turn in reversed(self.turns) if turn.asked == product), 0)


_NO_DELEGATION = Delegation("", "", 0)


def _find_report(action: object) -> str | None:
    """Returns the text of a `report` call, and None for every other action."""
    try:
        call = parse_call(action)
    except UsageError:
        return None
    return str(call.arguments.get("text", "")) if call.operation == REPORT else None
