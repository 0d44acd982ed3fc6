"""ControlClient: the requests to control, as flows."""

import secrets
from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from dayshift import wire
from dayshift.control_token import TokenCandidate
from dayshift.errors import (
    AtCapacity,
    ControlRefused,
    DayshiftError,
    RetryLater,
    ServiceError,
    TokenRefused,
    WireMismatch,
)
from dayshift.http_flow import ANSWER_SECONDS, JUDGING_SECONDS, HttpFlow, HttpRequest, HttpResponse

M = TypeVar("M", bound=BaseModel)
_UNAUTHORIZED = 401
_NO_LABELS = wire.PolicyLabels()

# By URL, what control accepted: found once, it is used by every connection of this process.
_accepted: dict[str, TokenCandidate] = {}


class ControlClient:
    """Sends messages to control and parses its answers."""

    def __init__(self, url: str, tokens: Sequence[TokenCandidate]) -> None:
        self.url = url.rstrip("/")
        self._tokens = tuple(tokens)

    @property
    def token_source(self) -> str:
        """Where the token was found that the next request carries."""
        return self._in_order()[0].source

    def health(self) -> HttpFlow[wire.Health]:
        response = yield HttpRequest("GET", f"{self.url}/health", {})
        return _parse(wire.Health, response, accept=503)

    def families(self) -> HttpFlow[wire.Families]:
        return (yield from self._get("/v1/tasks", wire.Families))

    def open(self, request: wire.OpenRequest, labels: wire.PolicyLabels = _NO_LABELS) -> HttpFlow[wire.Opened]:
        message = request if labels == _NO_LABELS else wire.LabelledRequest.of(request, labels)
        return (yield from self._post("/v1/episodes", message, wire.Opened, secrets.token_hex(16)))

    def state(self, episode_id: str) -> HttpFlow[wire.EpisodeState]:
        return (yield from self._get(f"/v1/episodes/{episode_id}", wire.EpisodeState))

    def wait(self, episode_id: str, hours: float, key: str) -> HttpFlow[wire.Waited]:
        message = wire.WaitRequest(hours=hours)
        return (yield from self._post(f"/v1/episodes/{episode_id}/wait", message, wire.Waited, key))

    def submit(self, episode_id: str, request: wire.SubmitRequest, key: str = "") -> HttpFlow[wire.Verdict]:
        path = f"/v1/episodes/{episode_id}/submit"
        return (
            yield from self._post(path, request, wire.Verdict, key or f"{episode_id}-submit", timeout=JUDGING_SECONDS)
        )

    def close(self, episode_id: str) -> HttpFlow[wire.Closed]:
        return (yield from self._post(f"/v1/episodes/{episode_id}/close", None, wire.Closed, f"{episode_id}-close"))

    def access(self, credential: str) -> HttpFlow[wire.AgentAccess]:
        """Asks what a credential of an agent opens."""
        query = wire.AccessQuery(credential=credential)
        return (yield from self._post("/v1/access", query, wire.AgentAccess, secrets.token_hex(16)))

    def diff(self, episode_id: str) -> HttpFlow[wire.Diff]:
        return (yield from self._get(f"/v1/episodes/{episode_id}/diff", wire.Diff))

    def trajectory(self, episode_id: str) -> HttpFlow[wire.Trajectory]:
        return (yield from self._get(f"/v1/episodes/{episode_id}/trajectory", wire.Trajectory))

    def report(self) -> HttpFlow[wire.Report]:
        return (yield from self._get("/v1/report", wire.Report))

    def playground(self) -> HttpFlow[wire.Playground]:
        return (yield from self._get("/v1/playground", wire.Playground))

    def reset_playground(self) -> HttpFlow[None]:
        key = {"idempotency-key": secrets.token_hex(16)}
        response = yield from self._send("POST", "/v1/playground/reset", key)
        if response.status >= 300:
            raise _parse_error(response)

    def live(self) -> HttpFlow[wire.LiveOverview]:
        return (yield from self._get("/v1/live", wire.LiveOverview))

    def tail(self, episode_id: str, after: Mapping[str, tuple[int, int]]) -> HttpFlow[wire.Tail]:
        message = wire.TailRequest(after=dict(after))
        return (yield from self._post(f"/v1/episodes/{episode_id}/tail", message, wire.Tail, secrets.token_hex(16)))

    def pause(self, episode_id: str, person: str) -> HttpFlow[wire.EpisodeState]:
        return (yield from self._act(episode_id, "pause", person, wire.EpisodeState))

    def resume(self, episode_id: str, person: str) -> HttpFlow[wire.EpisodeState]:
        return (yield from self._act(episode_id, "resume", person, wire.EpisodeState))

    def take_over(self, episode_id: str, person: str) -> HttpFlow[wire.TakenOver]:
        return (yield from self._act(episode_id, "take-over", person, wire.TakenOver))

    def close_for(self, episode_id: str, person: str) -> HttpFlow[wire.Closed]:
        """Closes an episode in the name of a person, who stands in the audit log."""
        return (yield from self._act(episode_id, "close", person, wire.Closed))

    def approvals(self) -> HttpFlow[wire.Approvals]:
        return (yield from self._get("/v1/approvals", wire.Approvals))

    def decide(self, approval_id: str, request: wire.DecisionRequest) -> HttpFlow[wire.Approval]:
        return (yield from self._post(f"/v1/approvals/{approval_id}", request, wire.Approval, secrets.token_hex(16)))

    def audit(self, episode_id: str | None = None) -> HttpFlow[wire.Audit]:
        query = "" if episode_id is None else f"?episode={quote(episode_id, safe='')}"
        return (yield from self._get(f"/v1/audit{query}", wire.Audit))

    def reviews(self, after: int = 0) -> HttpFlow[wire.Reviews]:
        return (yield from self._get(f"/v1/reviews?after={after}", wire.Reviews))

    def _act(self, episode_id: str, action: str, person: str, answer: type[M]) -> HttpFlow[M]:
        message = wire.PersonRequest(person=person)
        return (yield from self._post(f"/v1/episodes/{episode_id}/{action}", message, answer, secrets.token_hex(16)))

    def _get(self, path: str, answer: type[M]) -> HttpFlow[M]:
        return _parse(answer, (yield from self._send("GET", path, {})))

    def _post(
        self, path: str, message: BaseModel | None, answer: type[M], key: str, timeout: float = ANSWER_SECONDS
    ) -> HttpFlow[M]:
        headers = {"content-type": "application/json", "idempotency-key": key}
        content = b"" if message is None else message.model_dump_json().encode()
        # An opening plants rows and a verdict reads whole worlds: both may take longer than a step.
        return _parse(answer, (yield from self._send("POST", path, headers, content, timeout)))

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes = b"", timeout: float | None = None
    ) -> HttpFlow[HttpResponse]:
        """Tries the tokens in order: control refuses a wrong one before it reads the request."""
        for candidate in self._in_order():
            authorized = {**headers, "authorization": f"Bearer {candidate.token}"}
            response = yield HttpRequest(method, self.url + path, authorized, content, timeout)
            if response.status != _UNAUTHORIZED:
                _accepted[self.url] = candidate
                return response
        problem = _parse_problem(response)
        raise _parse_error(response) if problem is None else TokenRefused(self.url, self._sources, problem)

    @property
    def _sources(self) -> list[str]:
        return [candidate.source for candidate in self._tokens]

    def _in_order(self) -> list[TokenCandidate]:
        accepted = _accepted.get(self.url)
        return sorted(self._tokens, key=lambda candidate: candidate != accepted)


def _parse(kind: type[M], response: HttpResponse, accept: int = 200) -> M:
    if response.status >= 300 and response.status != accept:
        raise _parse_error(response)
    try:
        return kind.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise WireMismatch(
            f"the answer is not a {kind.__name__} of control ({where}: {first['msg']}): another program listens there, "
            "or a stack of another version"
        ) from error


def _parse_error(response: HttpResponse) -> DayshiftError:
    problem = _parse_problem(response)
    if problem is None and response.status < 500:
        return WireMismatch(f"the answer {response.status} is not in control's words: another program listens there")
    if problem is None:
        return ServiceError("control", response.status, _first_line(response.content))
    if response.status == 429:
        return AtCapacity(problem)
    if response.status == 503 and problem.retry_after is not None:
        return RetryLater(problem)
    if response.status >= 500:
        return ServiceError("control", response.status, problem.message)
    return ControlRefused(response.status, problem)


def _first_line(content: bytes) -> str:
    """Of a body that is not control's, such as the page of a proxy."""
    return content.decode(errors="replace").strip().partition("\n")[0]


def _parse_problem(response: HttpResponse) -> wire.Problem | None:
    try:
        return wire.Problem.model_validate_json(response.content)
    except ValidationError:
        return None
