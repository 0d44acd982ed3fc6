"""Attempt: one episode of a family with its trouble, which no agent sees; and how to follow an oracle in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dayshift import Episode
from dayshift.step import Step
from dayshift.wire import OpenRequest, Verdict
from pydantic import JsonValue

from fixtures.tasks.family import Call, Family, Instance, Oracle, Split
from services.validate.in_process_stack import InProcessStack

_TRY_AGAIN = frozenset({0, 429, 503})
_CUTS_SURVIVED = 5


class Stuck(Exception):
    """A scripted policy was refused something that it counted on."""


@dataclass(frozen=True, slots=True)
class TrialContext:
    """Where families are tried: a stack, a world and a split."""

    stack: InProcessStack
    world: str
    split: Split

    def request(self, family: Family[Any], seed: int, faults: str = "none") -> OpenRequest:
        return OpenRequest(task=family.id, seed=seed, split=self.split, world=self.world, faults=faults)


@dataclass
class Attempt:
    """One episode. `made` are the calls that were answered with success; `grouped` tells of any in no set order."""

    context: TrialContext
    family: Family[Any]
    seed: int
    instance: Instance
    trouble: Any
    episode: Episode
    calls: list[Call] = field(default_factory=list)
    writes_left: int | None = None
    grouped: bool = False

    @property
    def oracle(self) -> Oracle:
        return self.family.oracle(self.trouble)

    @cached_property
    def concerned(self) -> frozenset[int | str]:
        """Ids of all rows that the task speaks of."""
        row_ids: set[int | str] = {key for permission in self.instance.allowed for key in _keys(permission)}
        arguments = [question.arguments for question in self.instance.questions()] + [list(vars_of(self.trouble))]
        return frozenset(row_ids | set(_ids(arguments)))

    def reads(self, call: Call) -> bool:
        return self.episode.operations[call.operation].is_read_only

    def try_(self, call: Call) -> Step:
        """One call, again where a planned failure came in between."""
        while True:
            step = self.episode.step(call.operation, **call.arguments)
            if step.status not in _TRY_AGAIN or not step.sent:
                return step

    def do(self, call: Call) -> Any:
        step = self.try_(call)
        if step.refused:
            raise Stuck(f"{call.operation} {dict(call.arguments)} was answered {step.status}: {step.text[:300]}")
        self.calls.append(call)
        return step.json()

    def follow(self, oracle: Oracle, *, backwards: bool = False, writes: int | None = None) -> JsonValue:
        """What the oracle would submit; stopped after so many writes, nothing."""
        self.writes_left = writes
        reply: Any = None
        try:
            while True:
                request = oracle.send(reply)
                reply = (
                    self._together(request, backwards=backwards) if isinstance(request, tuple) else self._next(request)
                )
        except StopIteration as done:
            answer: JsonValue = done.value
            return answer
        except _Enough:
            return None
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise Stuck(f"the oracle did not understand an answer: {type(error).__name__}: {error}") from error

    def submit(self, answer: JsonValue = None) -> Verdict:
        return self.episode.submit(answer)

    def _together(self, calls: tuple[Call, ...], *, backwards: bool) -> tuple[Any, ...]:
        self.grouped = self.grouped or len(calls) > 1
        order = range(len(calls) - 1, -1, -1) if backwards else range(len(calls))
        answers = {index: self._next(calls[index]) for index in order}
        return tuple(answers[index] for index in range(len(calls)))

    def _next(self, call: Call) -> Any:
        if self.writes_left is not None and not self.reads(call):
            if self.writes_left == 0:
                raise _Enough
            self.writes_left -= 1
        return self.do(call)


class _Enough(Exception):
    """As many writes as were wanted."""


def draw_instance(context: TrialContext, family: Family[Any], seed: int) -> tuple[Instance, Any]:
    return context.stack.control.task_builder.draw(family, context.request(family, seed))


@contextmanager
def attempt(
    context: TrialContext,
    family: Family[Any],
    seed: int,
    faults: str = "none",
    known_instance: tuple[Instance, Any] | None = None,
) -> Iterator[Attempt]:
    """`known` is what was planted at this seed, where somebody has worked it out already."""
    request = context.request(family, seed, faults)
    instance, trouble = known_instance or draw_instance(context, family, seed)
    with Episode.open(request, connection=context.stack, retries=_CUTS_SURVIVED) as episode:
        yield Attempt(context, family, seed, instance, trouble, episode)


def vars_of(trouble: Any) -> Iterator[Any]:
    """Whatever a family remembers of what it planted, however it writes it down."""
    names = getattr(type(trouble), "__dataclass_fields__", None)
    if names is not None:
        for name in names:
            yield from vars_of(getattr(trouble, name))
    elif isinstance(trouble, dict):
        for value in trouble.values():
            yield from vars_of(value)
    elif isinstance(trouble, list | tuple | set | frozenset):
        for value in trouble:
            yield from vars_of(value)
    else:
        yield trouble


def _keys(permission: Any) -> Iterator[int | str]:
    row = getattr(permission, "row", None)
    if row is not None:
        yield row
    yield from _ids(list(getattr(permission, "values", {}).values()))


def _ids(value: Any) -> Iterator[int | str]:
    for each in vars_of(value):
        if isinstance(each, int) and not isinstance(each, bool):
            yield each
        elif isinstance(each, str) and each.isdecimal():
            yield int(each)
