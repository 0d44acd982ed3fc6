"""Session: the operations that one credential opens, and the calls that an agent makes of them through MCP."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dayshift.call_resolution import resolve_call
from dayshift.calls import SUBMIT, WAIT, Call
from dayshift.closing_calls import build_submission, parse_hours, render_news
from dayshift.connection import AsyncConnection
from dayshift.errors import BadArguments, ControlRefused, DayshiftError, HarnessFault, UsageError
from dayshift.lookup import LOOKUPS, look_up
from dayshift.operations import Catalogue, Operation
from dayshift.request_encoding import EncodedRequest, encode_request
from dayshift.step import is_refusal
from dayshift.tool_surface import Surface, build_surface
from dayshift.wire import AgentAccess

# Status 0 stands for no answer, as in a step of the client.
NO_ANSWER = 0, b"The connection was closed before an answer came."
_DONE = "Your work is done. Nothing can be changed any more."
_OUT_OF_ORDER = 503, b"Something is out of order here. Try again later."
_BAD_ANSWER_STATUSES = frozenset({400, 413, 422})
_OVER = "over"
_MOST_SURFACES = 8

# An answer's status and body.
StatusAndBody = tuple[int, bytes]
# Sends a request to a product; the number counts the requests to all products since time last passed.
Send = Callable[[Operation, EncodedRequest, int], Awaitable[StatusAndBody]]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a model reads after a call."""

    text: str
    is_error: bool


class Session:
    """One agent's work through MCP. Every call is the same request that a plain HTTP client would have sent."""

    def __init__(
        self,
        access: AgentAccess,
        operations: Catalogue,
        public_urls: Mapping[str, str],
        send: Send,
        control: AsyncConnection,
    ) -> None:
        self.access = access
        self.is_finished = False
        self._operations = operations
        self._public_urls = public_urls
        self._send = send
        self._control = control
        self._requests_since_wait = 0
        self._surfaces: dict[tuple[str, int], Surface] = {}

    def surface(self, name: str, max_answer_chars: int) -> Surface:
        """Returns the tools that the client asks for; the last few surfaces are kept."""
        key = (name, max_answer_chars)
        if key not in self._surfaces:
            if len(self._surfaces) >= _MOST_SURFACES:
                self._surfaces.pop(next(iter(self._surfaces)))
            self._surfaces[key] = build_surface(
                self._operations,
                name,
                max_answer_chars=max_answer_chars,
                solution=self.access.operations,
                seed=self.access.seed,
            )
        return self._surfaces[key]

    async def call(self, surface: Surface, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Makes a call under a tool's or an operation's name; a malformed one is not sent and answered with why."""
        if self.is_finished:
            return ToolAnswer(_DONE, is_error=True)
        call = Call(tool, arguments)
        try:
            call = resolve_call(call, self._operations, self._public_urls)
            status, body = await self._make(call)
        except UsageError as error:
            status, body = 0, str(error).encode(errors="replace")
        return ToolAnswer(surface.render_answer(call.operation, status, body), is_refusal(status))

    async def _make(self, call: Call) -> StatusAndBody:
        if call.operation in LOOKUPS:
            return 200, look_up(call, self._operations).encode()
        if call.operation == WAIT:
            return await self._wait(call)
        if call.operation == SUBMIT:
            return await self._finish(call)
        operation = self._operations[call.operation]
        request = encode_request(operation, call.arguments)
        self._requests_since_wait += 1
        return await self._send(operation, request, self._requests_since_wait)

    async def _wait(self, call: Call) -> StatusAndBody:
        hours, key = parse_hours(call), secrets.token_hex(16)
        flow = self._control.address.control.wait(self.access.episode_id, hours, key)
        try:
            waited = await self._control.run(flow)
        except ControlRefused as refused:
            return self._end(refused.status) if refused.problem.error == _OVER else _refusal(refused)
        except DayshiftError:
            # The agent needs to know no more; control records what failed.
            return _OUT_OF_ORDER
        self._requests_since_wait = 0
        return 200, render_news(waited)

    async def _finish(self, call: Call) -> StatusAndBody:
        if unknown := call.arguments.keys() - {"answer"}:
            raise BadArguments(f"{SUBMIT} takes an answer, not {', '.join(sorted(map(str, unknown)))}")
        submission = build_submission(call.arguments.get("answer"))
        # A key of its own: the trainer asks for the verdict under another, and with no answer.
        flow = self._control.address.control.submit(self.access.episode_id, submission, secrets.token_hex(16))
        try:
            await self._control.run(flow)
        except ControlRefused as refused:
            return _refusal(refused) if refused.status in _BAD_ANSWER_STATUSES else self._end(refused.status)
        except HarnessFault:
            return _OUT_OF_ORDER
        self.is_finished = True
        return 200, b""

    def _end(self, status: int) -> StatusAndBody:
        self.is_finished = True
        return status, _DONE.encode()


def _refusal(refused: ControlRefused) -> StatusAndBody:
    return refused.status, refused.problem.message.encode()


def choose_operations(catalogue: Catalogue, access: AgentAccess) -> Catalogue:
    """Returns the operations of a session: all of the products', and the closing ones where there is work to finish."""
    if access.can_finish:
        return catalogue.with_answer_schema(access.answer_schema)
    return Catalogue([operation for operation in catalogue.values() if not operation.belongs_to_harness], closing=())
