"""EpisodeProtocol: the requests of one episode as flows, and the checks of each response."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from dayshift.answer_text import MAX_ANSWER_CHARS
from dayshift.call_resolution import resolve_call
from dayshift.calls import SUBMIT, WAIT, Call, parse_call, salvage_call
from dayshift.closing_calls import build_submission, parse_hours, render_news
from dayshift.control_client import ControlClient
from dayshift.discovery import build_catalogue, fetch_product_apis
from dayshift.errors import (
    BadArguments,
    ControlRefused,
    EpisodeLost,
    EpisodeOver,
    HarnessFault,
    ServiceError,
    StaleRead,
    Unreachable,
    Unscored,
    UsageError,
    WireMismatch,
)
from dayshift.http_flow import HttpFlow, HttpRequest, HttpResponse
from dayshift.intervention import Allow, Intervention, Proposal, Replace, Ruling, Veto
from dayshift.lookup import LOOKUPS, look_up
from dayshift.openapi import credential_headers, host_header, read_public_url
from dayshift.operations import Catalogue, Operation
from dayshift.request_encoding import encode_request
from dayshift.step import Step, parse_date_header
from dayshift.tool_surface import DEFAULT_SURFACE, Surface, is_task_surface
from dayshift.trajectory import smaller_budget
from dayshift.wire import Diff, Opened, OpenRequest, PolicyLabels, SubmitRequest, Verdict

REVISION_HEADER = "x-data-revision"
REQUEST_NUMBER_HEADER = "x-request-number"
_CONNECTION_FAULTS = frozenset({"dropped_connection", "timeout_after_commit"})
# The agent's answer is not JSON, too large, or not of the wire's schema: the episode goes on.
_BAD_ANSWER_STATUSES = frozenset({400, 413, 422})
# SWE-ReX reports an exception of its runtime with this status; it is an ordinary answer.
_REMOTE_EXCEPTION = 511
_BROKEN, _BROKE_SERVICE = 500, "broke_service"
_NO_ANSWER = b"The connection was closed before an answer came."


@dataclass
class EpisodeProtocol:
    """The state of one episode on the trainer's side.

    `fault` is the failure of the environment that ended the episode, if one did.
    """

    control: ControlClient
    request: OpenRequest
    opened: Opened
    operations: Catalogue
    headers: Mapping[str, Mapping[str, str]]
    retries: int = 0
    clock: str = ""
    steps: list[Step] = field(default_factory=list)
    verdict: Verdict | None = None
    fault: HarnessFault | None = None
    closed: bool = False
    steps_used: int = 0
    # The address of each product that its links carry; empty for a product that has none.
    public_urls: Mapping[str, str] = field(default_factory=dict)
    # The tools that a model is given in this episode, where it is given a surface.
    surface: Surface | None = None
    max_answer_chars: int = MAX_ANSWER_CHARS
    # The trainer's own bound on the steps; the task's budget holds where it is smaller.
    max_steps: int | None = None
    # Who plays, as the stack's ledger has it.
    labels: PolicyLabels = field(default_factory=PolicyLabels)
    # What the episode changed; None until `fetch_diff`.
    diff: Diff | None = None
    interventions: list[Intervention] = field(default_factory=list)
    _lookups: int = 0
    _revisions: dict[str, int] = field(default_factory=dict)
    # Requests to products since the clocks of all of them were last set to the same time.
    _requests_since_wait: int = 0
    _actor: str = ""

    @classmethod
    def open(
        cls,
        control: ControlClient,
        request: OpenRequest,
        retries: int = 0,
        surface: str | None = None,
        max_answer_chars: int = MAX_ANSWER_CHARS,
        max_steps: int | None = None,
        labels: PolicyLabels = PolicyLabels(),  # noqa: B008 - it is immutable
    ) -> HttpFlow["EpisodeProtocol"]:
        if max_steps is not None and max_steps < 1:
            raise UsageError(f"max_steps={max_steps} leaves no step: give 1 or more, or None for the task's own budget")
        if surface is not None and is_task_surface(surface):
            request = request.model_copy(update={"assisted": True})
        opened = yield from control.open(request, labels)
        try:
            apis = yield from fetch_product_apis(opened.products)
            operations = build_catalogue(opened.products, apis, opened.answer_schema)
            tools = yield from _build_surface(control, request, operations, surface, max_answer_chars)
        except (HarnessFault, UsageError):
            yield from control.close(opened.episode_id)
            raise
        public_urls = {name: read_public_url(apis[name].document) for name in opened.products}
        headers = {
            name: {
                **credential_headers(apis[name].document, access.credential),
                **host_header(public_urls[name]),
            }
            for name, access in opened.products.items()
        }
        return cls(
            control,
            request,
            opened,
            operations,
            headers,
            retries,
            opened.clock,
            public_urls=public_urls,
            surface=tools,
            max_answer_chars=max_answer_chars,
            max_steps=max_steps,
            labels=labels,
        )

    def require_surface(self) -> Surface:
        """Returns the surface of this episode; a model that asks for tools where none was chosen is given `core`."""
        if self.surface is None:
            self.surface = self.operations.surface(DEFAULT_SURFACE, max_answer_chars=self.max_answer_chars)
        return self.surface

    @property
    def step_budget(self) -> int | None:
        return smaller_budget(self.opened.budget, self.max_steps)

    @property
    def steps_left(self) -> int | None:
        return None if self.step_budget is None else max(0, self.step_budget - self.steps_used)

    @property
    def over(self) -> bool:
        return self.closed or self.verdict is not None or self.fault is not None

    def act(self, action: object, by: str = "") -> HttpFlow[Step]:
        """Makes the call of a policy's action; a malformed one is recorded, answered with status 0, and costs a step.

        `by` is the actor: a specialist, named by its product, may call the operations of that product only.
        """
        self._actor = by
        try:
            return (
                yield from self.step(
                    self._check_actor(resolve_call(parse_call(action), self.operations, self.public_urls))
                )
            )
        except EpisodeOver:
            raise
        except UsageError as error:
            return self._record_malformed(action, error)

    def propose(self, action: object) -> Proposal:
        """Returns what a supervisor is asked about."""
        try:
            call = parse_call(action)
        except UsageError:
            call = salvage_call(action)
        return Proposal(
            call=call,
            brief=self.opened.brief,
            clock=self.clock,
            steps_left=self.steps_left,
            history=self.steps,
            operations=self.operations,
            task=self.request.task,
            seed=self.request.seed,
            episode_id=self.opened.episode_id,
        )

    def act_under(self, ruling: Ruling, action: object, by: str = "") -> HttpFlow[Step]:
        """Makes the call that a supervisor allows, and notes what they did."""
        self._check_open()
        self.interventions += ruling.interventions
        match ruling.decision:
            case Replace(call=call):
                return (yield from self.act(call, by))
            case Veto(because=because):
                self._actor = by
                return self._record_malformed(action, UsageError(f"This call was not made: {because}"))
            case Allow():
                return (yield from self.act(action, by))

    def _check_actor(self, call: Call) -> Call:
        if call.operation not in LOOKUPS:
            _ = self._own_operations[call.operation]
        return call

    @property
    def _own_operations(self) -> Catalogue:
        """The operations of whoever acts: a specialist has those of one product."""
        return self.operations.of_product(self._actor) if self._actor in self.opened.products else self.operations

    def _look_up(self, call: Call) -> Step:
        """Answers from the list of operations. As many lookups as the budget has steps are free."""
        started = perf_counter()
        text = look_up(call, self._own_operations)
        self._lookups += 1
        if self.opened.budget is not None and self._lookups > self.opened.budget.steps:
            self.steps_used += 1
        return self._add_step(call, "", HttpRequest("GET", "", {}), started, 200, text.encode())

    def _record_malformed(self, action: object, error: UsageError) -> Step:
        self._check_open()
        self.steps_used += 1
        return self._add_step(salvage_call(action), "", HttpRequest("", "", {}), 0, 0, str(error).encode())

    def step(self, call: Call) -> HttpFlow[Step]:
        """Makes a call; raises a UsageError for a malformed one."""
        if call.operation == SUBMIT:
            if unknown := call.arguments.keys() - {"answer"}:
                raise BadArguments(f"{SUBMIT} takes an answer, not {', '.join(sorted(unknown))}")
            yield from self.submit(call.arguments.get("answer"))
            return self.steps[-1]
        self._check_open()
        if call.operation in LOOKUPS:
            return self._look_up(call)
        try:
            if call.operation == WAIT:
                return (yield from self._wait(call))
            return (yield from self._call(self.operations[call.operation], call))
        except HarnessFault as fault:
            self.fault = fault
            raise

    def submit(self, answer: Any = None) -> HttpFlow[Verdict]:
        """Returns the verdict; a second submission returns the first verdict again."""
        if self.verdict is not None:
            return self.verdict
        if self.closed or self.fault is not None:
            raise EpisodeOver("the episode is over; open another")
        started = perf_counter()
        try:
            verdict = yield from self._fetch_verdict(build_submission(answer))
        except HarnessFault as fault:
            self.fault = fault
            raise
        self.verdict, self.clock = verdict, verdict.clock or self.clock
        call = Call(SUBMIT, {} if answer is None else {"answer": answer})
        self._add_step(call, "", HttpRequest("POST", "", {}), started, 200, b"")
        return verdict

    def fetch_diff(self) -> HttpFlow[None]:
        """Asks for the rows that the episode changed, for its recording; a recording without them is still whole."""
        with suppress(HarnessFault, UsageError):
            self.diff = yield from self.control.diff(self.opened.episode_id)

    def close(self) -> HttpFlow[None]:
        if not self.closed:
            self.closed = True
            yield from self.control.close(self.opened.episode_id)

    def _fetch_verdict(self, submission: SubmitRequest) -> HttpFlow[Verdict]:
        try:
            verdict = yield from self.control.submit(self.opened.episode_id, submission)
        except ControlRefused as refused:
            if refused.status in _BAD_ANSWER_STATUSES:
                raise BadArguments(refused.problem.message) from refused
            raise EpisodeLost(f"control gives no verdict: {refused.problem.message}") from refused
        self._check_verdict(verdict)
        return verdict

    def _check_open(self) -> None:
        if self.over:
            raise EpisodeOver("the episode is over; open another")
        if self.steps_left == 0:
            raise EpisodeOver("the budget of steps is used up: submit")

    def _call(self, operation: Operation, call: Call) -> HttpFlow[Step]:
        request = self._build_request(operation, call)
        self.steps_used += 1
        self._requests_since_wait += 1
        started = perf_counter()
        try:
            response = yield from self._send(request)
        except Unreachable as cut:
            fault = yield from self._find_planned_fault(cut, request)
            return self._add_step(call, operation.product, request, started, 0, _NO_ANSWER, fault=fault)
        try:
            revision = self._check_response(operation, response)
        except ServiceError as error:
            self.verdict = yield from self._find_harmful_verdict(error)
            return self._add_step(call, operation.product, request, started, response.status, response.content)
        if (date := response.headers.get("date")) is not None:
            self.clock = max(self.clock, parse_date_header(date))
        return self._add_step(
            call, operation.product, request, started, response.status, response.content, revision=revision
        )

    def _build_request(self, operation: Operation, call: Call) -> HttpRequest:
        encoded = encode_request(operation, call.arguments)
        key = f"{self.opened.episode_id}-{self.steps_used + 1}"
        headers = {
            **self.headers[operation.product],
            "idempotency-key": key,
            # One clock for all products: each moves to the time of the whole episode.
            REQUEST_NUMBER_HEADER: str(self._requests_since_wait + 1),
            **encoded.headers,
        }
        base = self.opened.products[operation.product].base_url
        return HttpRequest(operation.method, base.rstrip("/") + encoded.target, headers, encoded.content)

    def _send(self, request: HttpRequest) -> HttpFlow[HttpResponse]:
        """Sends a request once, and again for each retry; the idempotency key makes a second arrival harmless."""
        for _ in range(self.retries):
            try:
                return (yield request)
            except Unreachable:
                continue
        return (yield request)

    def _find_planned_fault(self, cut: Unreachable, request: HttpRequest) -> HttpFlow[str]:
        """Returns the planned fault that cut this connection; without one, the cut is a failure of the environment."""
        if self.request.faults == "none":
            raise cut
        try:
            served = yield from self.control.trajectory(self.opened.episode_id)
        except HarnessFault:
            raise cut from None
        for step in reversed(served.steps):
            if step.key == request.headers["idempotency-key"] and step.fault in _CONNECTION_FAULTS:
                return str(step.fault)
        raise cut

    def _check_response(self, operation: Operation, response: HttpResponse) -> int | None:
        """Checks that a response can be trusted, and returns its revision."""
        if response.status == 401:
            raise EpisodeLost(f"{operation.product} no longer knows this episode's credential")
        if response.status >= 500 and response.status != _REMOTE_EXCEPTION and not self._may_be_planned(response):
            raise ServiceError(operation.name, response.status, response.content.decode(errors="replace"))
        revision = _parse_revision(operation, response)
        if revision is None:
            return None
        latest = self._revisions.get(operation.product, 0)
        if revision < latest:
            raise StaleRead(operation.product, latest, revision)
        self._revisions[operation.product] = revision
        return revision

    def _find_harmful_verdict(self, error: ServiceError) -> HttpFlow[Verdict]:
        """The verdict of an agent whose own call broke a product after it had done harm; otherwise raises the error."""
        if error.status != _BROKEN:
            raise error
        try:
            verdict = yield from self._fetch_verdict(SubmitRequest())
        except (HarnessFault, UsageError):
            raise error from None
        if not any(flag.tag == _BROKE_SERVICE for flag in verdict.flags):
            raise error
        return verdict

    def _may_be_planned(self, response: HttpResponse) -> bool:
        """Accepts a 503 for now; the verdict must name as many planned outages as the client met."""
        return response.status == 503 and self.request.faults != "none"

    def _check_verdict(self, verdict: Verdict) -> None:
        if verdict.outcome == "unscored":
            raise Unscored(verdict)
        if verdict.reward is None or not math.isfinite(verdict.reward):
            raise WireMismatch(f"a verdict of {verdict.outcome} came with the reward {verdict.reward}")
        outages = sum(step.status == 503 for step in self.steps)
        planned = sum(fault.kind == "unavailable" for fault in verdict.faults)
        if outages > planned:
            raise ServiceError("a product", 503, f"{outages} outages were met, {planned} were planned")

    def _wait(self, call: Call) -> HttpFlow[Step]:
        hours = parse_hours(call)
        self.steps_used += 1
        started = perf_counter()
        key = f"{self.opened.episode_id}-{self.steps_used}"
        request = HttpRequest("POST", "", {"idempotency-key": key})
        try:
            waited = yield from self.control.wait(self.opened.episode_id, hours, key)
        except ControlRefused as refused:
            # Control refuses hours beyond the budget; the agent reads that as an ordinary answer.
            return self._add_step(call, "", request, started, refused.status, refused.problem.message.encode())
        self.clock, self._requests_since_wait = waited.clock, 0
        return self._add_step(call, "", request, started, 200, render_news(waited))

    def _add_step(
        self,
        call: Call,
        product: str,
        request: HttpRequest,
        started: float,
        status: int,
        body: bytes,
        *,
        revision: int | None = None,
        fault: str | None = None,
    ) -> Step:
        base = self.opened.products[product].base_url.rstrip("/") if product else ""
        step = Step(
            number=len(self.steps) + 1,
            call=call,
            product=product,
            method=request.method,
            target=request.url[len(base) :],
            request=request.content,
            status=status,
            body=body,
            revision=revision,
            clock=self.clock,
            key=request.headers.get("idempotency-key", ""),
            milliseconds=(perf_counter() - started) * 1000 if started else 0.0,
            fault=fault,
            actor=self._actor,
        )
        self.steps.append(step)
        return step


def _build_surface(
    control: ControlClient, request: OpenRequest, operations: Catalogue, name: str | None, max_answer_chars: int
) -> HttpFlow[Surface | None]:
    """Builds the surface that was asked for; only `task` needs to know the operations of the family's solutions."""
    if name is None:
        return None
    solution: list[str] = []
    if is_task_surface(name):
        families = (yield from control.families()).families
        solution = next((family.operations for family in families if family.id == request.task), [])
    return operations.surface(name, max_answer_chars=max_answer_chars, solution=solution, seed=request.seed)


def _parse_revision(operation: Operation, response: HttpResponse) -> int | None:
    text = response.headers.get(REVISION_HEADER)
    if text is not None and text.isdigit():
        return int(text)
    if text is None and response.status >= 400:
        return None
    raise WireMismatch(f"{operation.name} answered {response.status} without a revision that can be checked")
