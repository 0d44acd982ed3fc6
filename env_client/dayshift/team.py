"""Team: one episode on which an orchestrator and specialists work in turn."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dayshift.asking import Order, orchestrator_operations, order_of
from dayshift.calls import ORCHESTRATOR, REPORT, SUBMIT, Call, gist, parse_call
from dayshift.credit import rewards
from dayshift.episode import Episode
from dayshift.errors import Misuse
from dayshift.exchange import Exchange
from dayshift.operations import Catalogue
from dayshift.trajectory import Quarantine, Trajectory, Turn, TurnEnd, plain

USUAL_TURNS = 20
_DONE, _NOT_SENT = 200, 0


@dataclass(frozen=True, slots=True)
class Assignment:
    """All that a specialist may know when it must choose: neither the brief nor what the others do."""

    product: str
    request: str
    clock: str
    steps_left: int
    # Its own calls since it was asked, and those of earlier times in the same episode.
    history: Sequence[Exchange]
    earlier: Sequence[Exchange]
    operations: Catalogue

    @property
    def last(self) -> Exchange | None:
        return self.history[-1] if self.history else None


@dataclass(frozen=True, slots=True)
class Overview:
    """All that an orchestrator may know when it must choose: the brief and what it was told, but no product."""

    brief: str
    clock: str
    turns_left: int
    # Calls that all specialists together may still make.
    steps_left: int | None
    history: Sequence[Turn]
    operations: Catalogue

    @property
    def last(self) -> Turn | None:
        return self.history[-1] if self.history else None


@dataclass
class _Work:
    """An order that somebody is busy with."""

    call: Call
    order: Order
    first: int
    left: int


class Team:
    """Whose turn it is, what each has seen, and what becomes of an action.

    Whoever is asked works until it reports or its budget is spent; only then the orchestrator hears of it.
    """

    def __init__(self, episode: Episode, turns: int = USUAL_TURNS) -> None:
        opened = episode.dialogue.opened
        self.episode = episode
        self.specialists = tuple(sorted(opened.products))
        self.operations = orchestrator_operations(self.specialists, opened.answer_schema)
        self.turns: list[Turn] = []
        # The budget of turns or of steps ended the episode, not the orchestrator.
        self.cut = False
        self._most_turns = turns
        self._work: _Work | None = None
        self._last_order: dict[str, Order] = {}

    @property
    def whose(self) -> str:
        return ORCHESTRATOR if self._work is None else self._work.order.product

    @property
    def over(self) -> bool:
        return self.episode.over

    @property
    def turns_left(self) -> int:
        return self._most_turns - len(self.turns)

    @property
    def rewards(self) -> dict[str, float]:
        """Of both levels, once there is a verdict."""
        verdict = self.episode.verdict
        return {} if verdict is None else rewards(verdict, self.specialists)

    def overview(self) -> Overview:
        episode = self.episode
        return Overview(
            episode.brief, episode.clock, self.turns_left, episode.steps_left, tuple(self.turns), self.operations
        )

    def assignment(self, product: str) -> Assignment:
        """What this specialist knows; between two orders, of the last one."""
        order = self._last_order.get(product)
        own = [one for one in self.episode.exchanges if one.actor == product]
        first = self._first_of(product)
        return Assignment(
            product=product,
            request="" if order is None else order.request,
            clock=self.episode.clock,
            steps_left=self._work.left if self._work is not None and self.whose == product else 0,
            history=[one for one in own if one.number >= first],
            earlier=[one for one in own if one.number < first],
            operations=self.episode.operations.of_product(product),
        )

    def act(self, action: object) -> None:
        """For whoever's turn it is. A fault of the house is raised, and the episode is over for all."""
        if self._work is None:
            self._orchestrate(action)
        else:
            self._serve(self._work, action)
        spent = self.episode.steps_left == 0 or (self._work is None and self.turns_left == 0)
        if spent and not self.over:
            self.cut = True
            self.episode.act(Call(SUBMIT), ORCHESTRATOR)

    def trajectory(self, quarantine: Quarantine | None = None) -> Trajectory:
        """Both levels: steps say who acted, turns what the orchestrator asked for and was told."""
        turns = [*self.turns] if self._work is None else [*self.turns, self._turn(self._work, "broken", _NOT_SENT, "")]
        return Trajectory.of(self.episode.dialogue, quarantine=quarantine, turns=turns, rewards=self.rewards)

    def _orchestrate(self, action: object) -> None:
        start = len(self.episode.exchanges) + 1
        try:
            call = parse_call(action)
            order = order_of(Call(self.operations[call.operation].name, call.arguments))
        except Misuse as misuse:
            self._note(_Work(gist(action), _NOBODY, start, 0), "misstep", _NOT_SENT, str(misuse))
            return
        if order is None:
            exchange = self.episode.act(call, ORCHESTRATOR)
            self._note(_Work(call, _NOBODY, start, 0), "answered", exchange.status, exchange.text)
            return
        left = order.budget if self.episode.steps_left is None else min(order.budget, self.episode.steps_left)
        self._work = _Work(call, order, start, left)
        self._last_order[order.product] = order

    def _serve(self, work: _Work, action: object) -> None:
        if (text := _report_in(action)) is not None:
            self._finish(work, "reported", text)
            return
        self.episode.act(action, work.order.product)
        work.left -= 1
        if work.left == 0:
            self._finish(work, "spent", "")

    def _finish(self, work: _Work, ended: TurnEnd, text: str) -> None:
        made = self.episode.exchanges[work.first - 1 :]
        told = {
            "report": text,
            "ended": ended,
            "steps": len(made),
            "steps_left": self.episode.steps_left,
            "refused": [{"operation": one.call.operation, "status": one.status} for one in made if one.refused],
        }
        self._work = None
        self._note(work, ended, _DONE, json.dumps(told, ensure_ascii=False))

    def _note(self, work: _Work, ended: TurnEnd, status: int, answer: str) -> None:
        self.turns.append(self._turn(work, ended, status, answer))

    def _turn(self, work: _Work, ended: TurnEnd, status: int, answer: str) -> Turn:
        return Turn(
            number=len(self.turns) + 1,
            operation=work.call.operation,
            arguments=plain(dict(work.call.arguments)),
            asked=work.order.product,
            ended=ended,
            first=work.first,
            last=len(self.episode.exchanges),
            status=status,
            answer=answer,
            clock=self.episode.clock,
        )

    def _first_of(self, product: str) -> int:
        """The number of the first step that belongs to this specialist's last order."""
        if self._work is not None and self._work.order.product == product:
            return self._work.first
        return next((turn.first for turn in reversed(self.turns) if turn.asked == product), 0)


_NOBODY = Order("", "", 0)


def _report_in(action: object) -> str | None:
    try:
        call = parse_call(action)
    except Misuse:
        return None
    return str(call.arguments.get("text", "")) if call.operation == REPORT else None
