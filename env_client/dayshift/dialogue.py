"""Dialogue: one episode as flows, with the checks that make its answers trustworthy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from pydantic import ValidationError

from dayshift import encoding
from dayshift.calls import SUBMIT, WAIT, Call, gist, parse_call
from dayshift.control import Control
from dayshift.discovery import catalogue_of, offers
from dayshift.errors import (
    BadArguments,
    ControlRefused,
    EpisodeLost,
    EpisodeOver,
    HarnessFault,
    Misuse,
    ServiceBroke,
    StaleRead,
    Unreachable,
    Unscored,
    WireMismatch,
)
from dayshift.exchange import Exchange, clock_of
from dayshift.flow import Flow, Incoming, Outgoing
from dayshift.openapi import credential_headers
from dayshift.operations import Catalogue, Operation
from dayshift.wire import Opened, OpenRequest, SubmitRequest, Verdict, WaitRequest

REVISION_HEADER = "x-data-revision"
_CUT_BY_PLAN = frozenset({"dropped_connection", "timeout_after_commit"})
# Not JSON, too large, or not what the wire takes: the agent's doing, and the episode goes on.
_ANSWER_NOT_TAKEN = frozenset({400, 413, 422})
# How a remote runtime refuses: an ordinary answer there, though its number says otherwise.
_REFUSED_REMOTELY = 511
_NO_ANSWER = b"The connection was closed before an answer came."


@dataclass
class Dialogue:
    """The state of one episode on the trainer's side."""

    control: Control
    request: OpenRequest
    opened: Opened
    operations: Catalogue
    headers: Mapping[str, Mapping[str, str]]
    retries: int = 0
    clock: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    verdict: Verdict | None = None
    fault: HarnessFault | None = None
    closed: bool = False
    steps: int = 0
    _seen: dict[str, int] = field(default_factory=dict)
    _actor: str = ""

    @classmethod
    def open(cls, control: Control, request: OpenRequest, retries: int = 0) -> Flow["Dialogue"]:
        opened = yield from control.open(request)
        try:
            found = yield from offers(opened)
        except HarnessFault:
            yield from control.close(opened.episode_id)
            raise
        headers = {
            name: credential_headers(found[name].document, access.credential)
            for name, access in opened.products.items()
        }
        return cls(control, request, opened, catalogue_of(opened, found), headers, retries, opened.clock)

    @property
    def steps_left(self) -> int | None:
        return None if self.opened.budget is None else max(0, self.opened.budget.steps - self.steps)

    @property
    def over(self) -> bool:
        return self.closed or self.verdict is not None or self.fault is not None

    def act(self, action: object, by: str = "") -> Flow[Exchange]:
        """Like `step`, but a call that cannot be written is the agent's misstep: recorded, and it costs a step.

        `by` is who acts: a specialist, named by its product, has the operations of that product alone.
        """
        self._actor = by
        try:
            return (yield from self.step(self._within_reach(parse_call(action))))
        except EpisodeOver:
            raise
        except Misuse as misuse:
            return self._misstep(action, misuse)

    def _within_reach(self, call: Call) -> Call:
        if self._actor in self.opened.products:
            _ = self.operations.of_product(self._actor)[call.operation]
        return call

    def _misstep(self, action: object, misuse: Misuse) -> Exchange:
        self._check_open()
        self.steps += 1
        return self._keep(gist(action), "", Outgoing("", "", {}), 0, 0, str(misuse).encode())

    def step(self, call: Call) -> Flow[Exchange]:
        if call.operation == SUBMIT:
            if unknown := call.arguments.keys() - {"answer"}:
                raise BadArguments(f"submit takes an answer, not {', '.join(sorted(unknown))}")
            yield from self.submit(call.arguments.get("answer"))
            return self.exchanges[-1]
        self._check_open()
        try:
            if call.operation == WAIT:
                return (yield from self._wait(call))
            return (yield from self._call(self.operations[call.operation], call))
        except HarnessFault as fault:
            self.fault = fault
            raise

    def submit(self, answer: Any = None) -> Flow[Verdict]:
        """The verdict; asked for twice, it is the first one again."""
        if self.verdict is not None:
            return self.verdict
        if self.closed or self.fault is not None:
            raise EpisodeOver("the episode is over; open another")
        started = perf_counter()
        try:
            verdict = yield from self._judged(_submission(answer))
        except HarnessFault as fault:
            self.fault = fault
            raise
        self.verdict, self.clock = verdict, verdict.clock or self.clock
        call = Call(SUBMIT, {} if answer is None else {"answer": answer})
        self._keep(call, "", Outgoing("POST", "", {}), started, 200, b"")
        return verdict

    def close(self) -> Flow[None]:
        if not self.closed:
            self.closed = True
            yield from self.control.close(self.opened.episode_id)

    def _judged(self, submission: SubmitRequest) -> Flow[Verdict]:
        try:
            verdict = yield from self.control.submit(self.opened.episode_id, submission)
        except ControlRefused as refused:
            if refused.status in _ANSWER_NOT_TAKEN:
                raise BadArguments(refused.problem.message) from refused
            raise EpisodeLost(f"control gives no verdict: {refused.problem.message}") from refused
        self._check_verdict(verdict)
        return verdict

    def _check_open(self) -> None:
        if self.over:
            raise EpisodeOver("the episode is over; open another")
        if self.steps_left == 0:
            raise EpisodeOver("the budget of steps is used up: submit")

    def _call(self, operation: Operation, call: Call) -> Flow[Exchange]:
        outgoing = self._written(operation, call)
        self.steps += 1
        started = perf_counter()
        try:
            incoming = yield from self._sent(outgoing)
        except Unreachable as cut:
            fault = yield from self._plan_behind(cut, outgoing)
            return self._keep(call, operation.product, outgoing, started, 0, _NO_ANSWER, fault=fault)
        revision = self._trusted(operation, incoming)
        if (date := incoming.headers.get("date")) is not None:
            self.clock = max(self.clock, clock_of(date))
        return self._keep(
            call, operation.product, outgoing, started, incoming.status, incoming.content, revision=revision
        )

    def _written(self, operation: Operation, call: Call) -> Outgoing:
        written = encoding.write(operation, call.arguments)
        key = f"{self.opened.episode_id}-{self.steps + 1}"
        headers = {**self.headers[operation.product], "idempotency-key": key, **written.headers}
        base = self.opened.products[operation.product].base_url
        return Outgoing(operation.method, base.rstrip("/") + written.target, headers, written.content)

    def _sent(self, outgoing: Outgoing) -> Flow[Incoming]:
        """Once, unless the caller asked for retries; the key makes a second arrival harmless."""
        for _ in range(self.retries):
            try:
                return (yield outgoing)
            except Unreachable:
                continue
        return (yield outgoing)

    def _plan_behind(self, cut: Unreachable, outgoing: Outgoing) -> Flow[str]:
        """The planned fault that cut this connection; if none did, the cut is the house's own."""
        if self.request.faults == "none":
            raise cut
        try:
            served = yield from self.control.trajectory(self.opened.episode_id)
        except HarnessFault:
            raise cut from None
        for step in reversed(served.steps):
            if step.key == outgoing.headers["idempotency-key"] and step.fault in _CUT_BY_PLAN:
                return str(step.fault)
        raise cut

    def _trusted(self, operation: Operation, incoming: Incoming) -> int | None:
        """The answer's revision, after every reason not to believe the answer has been ruled out."""
        if incoming.status == 401:
            raise EpisodeLost(f"{operation.product} no longer knows this episode's credential")
        if incoming.status >= 500 and incoming.status != _REFUSED_REMOTELY and not self._may_be_planned(incoming):
            raise ServiceBroke(operation.name, incoming.status, incoming.content.decode(errors="replace"))
        revision = _revision(operation, incoming)
        if revision is None:
            return None
        seen = self._seen.get(operation.product, 0)
        if revision < seen:
            raise StaleRead(operation.product, seen, revision)
        self._seen[operation.product] = revision
        return revision

    def _may_be_planned(self, incoming: Incoming) -> bool:
        """Believed for now; the verdict must name as many planned outages as were met."""
        return incoming.status == 503 and self.request.faults != "none"

    def _check_verdict(self, verdict: Verdict) -> None:
        if verdict.outcome == "unscored":
            raise Unscored(verdict)
        if verdict.reward is None or not math.isfinite(verdict.reward):
            raise WireMismatch(f"a verdict of {verdict.outcome} came with the reward {verdict.reward}")
        outages = sum(exchange.status == 503 for exchange in self.exchanges)
        planned = sum(fault.kind == "unavailable" for fault in verdict.faults)
        if outages > planned:
            raise ServiceBroke("a product", 503, f"{outages} outages were met, {planned} were planned")

    def _wait(self, call: Call) -> Flow[Exchange]:
        hours = _hours(call)
        self.steps += 1
        started = perf_counter()
        key = f"{self.opened.episode_id}-{self.steps}"
        sent = Outgoing("POST", "", {"idempotency-key": key})
        try:
            waited = yield from self.control.wait(self.opened.episode_id, hours, key)
        except ControlRefused as refused:
            # Hours that the budget does not have are declined as any other call may be.
            return self._keep(call, "", sent, started, refused.status, refused.problem.message.encode())
        self.clock = waited.clock
        return self._keep(call, "", sent, started, 200, waited.model_dump_json().encode())

    def _keep(
        self,
        call: Call,
        product: str,
        outgoing: Outgoing,
        started: float,
        status: int,
        body: bytes,
        *,
        revision: int | None = None,
        fault: str | None = None,
    ) -> Exchange:
        base = self.opened.products[product].base_url.rstrip("/") if product else ""
        exchange = Exchange(
            number=len(self.exchanges) + 1,
            call=call,
            product=product,
            method=outgoing.method,
            target=outgoing.url[len(base) :],
            request=outgoing.content,
            status=status,
            body=body,
            revision=revision,
            clock=self.clock,
            key=outgoing.headers.get("idempotency-key", ""),
            milliseconds=(perf_counter() - started) * 1000 if started else 0.0,
            fault=fault,
            actor=self._actor,
        )
        self.exchanges.append(exchange)
        return exchange


def _revision(operation: Operation, incoming: Incoming) -> int | None:
    text = incoming.headers.get(REVISION_HEADER)
    if text is not None and text.isdigit():
        return int(text)
    if text is None and incoming.status >= 400:
        return None
    raise WireMismatch(f"{operation.name} answered {incoming.status} without a revision that can be checked")


def _hours(call: Call) -> float:
    try:
        return WaitRequest.model_validate(dict(call.arguments)).hours
    except ValidationError as error:
        raise BadArguments(f"wait takes hours, more than 0 and at most a year: {error.errors()[0]['msg']}") from error


def _submission(answer: Any) -> SubmitRequest:
    try:
        submission = SubmitRequest(answer=answer)
        submission.model_dump_json()
    except ValidationError as error:
        raise BadArguments(f"an answer is a JSON value: {error.errors()[0]['msg']}") from error
    except ValueError as error:
        # Half of a surrogate pair, as a model may write it, is text that no wire can carry.
        raise BadArguments(f"an answer is a JSON value: {error}") from error
    return submission
