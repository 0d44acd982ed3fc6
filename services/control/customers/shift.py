"""Shift: the people of one episode, and time that passes among them: whatever falls due happens in its order."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from fixtures.tasks.family import Asked, Instance
from services.control.customers.mind import HOUR_MS
from services.control.customers.people import Approver, Decision, Outcome, Patron, Person, Visit
from services.control.live import Live

DESK = "desk"
# What products do by themselves (automations, jobs, renewals) is noticed no later than this.
_LOOK_EVERY_MS = 24 * HOUR_MS


class Shift:
    """Customers and colleagues, in the order of the task."""

    def __init__(self, instance: Instance, seed: int, start_ms: int) -> None:
        self.patrons = tuple(Patron(one, seed, start_ms) for one in instance.customers)
        self._approvers = tuple(map(Approver, instance.colleagues))
        self._people: tuple[Person, ...] = (*self.patrons, *self._approvers)
        self._looked_at: dict[str, int] | None = None
        self._due: list[tuple[int, Person]] = []

    async def pass_time(self, live: Live, by_ms: int) -> dict[str, dict[str, Any]]:
        """Every clock from one turn to the next, until all of it has passed and nobody has anything left to do."""
        around = _Around(live)
        before = await live.ask_all()
        now = max(state["clock_ms"] for state in before.values())
        end = now + by_ms
        states = await live.advance_to(now)
        while True:
            first = await self._first(around, states)
            at = min(end, now + _LOOK_EVERY_MS, end if first is None else first[0])
            if at > now:
                now = at
                states = await live.advance_to(now)
                first = await self._first(around, states)
            if first is not None and first[0] <= now:
                # One at a time: what somebody does may change everybody else's mind.
                await first[1].act(around)
                # Also where the desk turned them away and nothing changed: they have tried.
                self._looked_at = None
                states = await live.ask_all()
            elif now >= end:
                return {
                    name: {**one, "changes": one["revision"] - before[name]["revision"]} for name, one in states.items()
                }

    async def outcomes(self, live: Live) -> list[Outcome]:
        views = await _Around(live).views(self.patrons)
        return [patron.outcome(shown, is_so=held) for patron, (shown, held) in zip(self.patrons, views, strict=True)]

    def decisions(self) -> list[Decision]:
        return [Decision(one.colleague, one.decided_ms) for one in self._approvers]

    async def _first(self, around: "_Around", states: Mapping[str, Mapping[str, Any]]) -> tuple[int, Person] | None:
        """Whoever is due first. While no product has changed, nobody changes their mind."""
        revisions = {name: int(one["revision"]) for name, one in states.items()}
        if revisions != self._looked_at:
            views = await around.views(self._people)
            looked = [
                (person.look(shown, is_so=held), person)
                for person, (shown, held) in zip(self._people, views, strict=True)
            ]
            self._due = [(at, person) for at, person in looked if at is not None]
            self._looked_at = revisions
        return min(self._due, key=lambda turn: turn[0], default=None)


class _Around:
    """The products of one episode as its people reach them."""

    def __init__(self, live: Live) -> None:
        self._live = live

    async def visit(self, visits: Sequence[Visit]) -> list[Mapping[str, Any]]:
        said = await self._live.tell(DESK, "/visit", {"visits": list(visits)})
        answers: list[Mapping[str, Any]] = said["answers"]
        return answers

    async def views(self, people: Sequence[Person]) -> list[tuple[list[Mapping[str, Any]], bool]]:
        """What each of them is shown, and whether what they wonder about is so; asked for all of them at once."""
        visits = [person.visits() for person in people]
        shown = iter(await self.visit([one for some in visits for one in some]) if any(visits) else ())
        held = await self._held(dict.fromkeys(_Question.of(one) for person in people for one in person.wonders()))
        return [
            (list(islice(shown, len(some))), all(held[_Question.of(one)] for one in person.wonders()))
            for person, some in zip(people, visits, strict=True)
        ]

    async def _held(self, asked: Iterable["_Question"]) -> dict["_Question", bool]:
        held: dict[_Question, bool] = {}
        by_product: dict[str, list[_Question]] = {}
        for one in asked:
            by_product.setdefault(one.product, []).append(one)
        for product, questions in by_product.items():
            checks = [{"name": one.check, "arguments": orjson.loads(one.arguments)} for one in questions]
            said = await self._live.tell(product, "/ask", {"checks": checks})
            held |= {one: found["held"] for one, found in zip(questions, said["findings"], strict=True)}
        return held


class _Question(NamedTuple):
    """A question to a product, as something that is the same wherever it is asked."""

    product: str
    check: str
    arguments: bytes

    @classmethod
    def of(cls, asked: Asked) -> "_Question":
        return cls(asked.product, asked.check, orjson.dumps(dict(asked.arguments)))
