"""Control's side of the wire, as flows."""

import secrets
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from dayshift import wire
from dayshift.errors import AtCapacity, ControlRefused, DayshiftError, NotNow, ServiceBroke, WireMismatch
from dayshift.flow import Flow, Incoming, Outgoing

M = TypeVar("M", bound=BaseModel)

# Opening plants rows and judging reads whole worlds: both may take longer than a step.
_PATIENCE_SECONDS = 120.0


class Control:
    """Writes messages to control and reads its answers."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._headers = {"authorization": f"Bearer {token}"}

    def health(self) -> Flow[wire.Health]:
        incoming = yield Outgoing("GET", f"{self.url}/health", self._headers)
        return _parsed(wire.Health, incoming, also=503)

    def families(self) -> Flow[wire.Families]:
        return (yield from self._get("/v1/tasks", wire.Families))

    def open(self, request: wire.OpenRequest) -> Flow[wire.Opened]:
        return (yield from self._post("/v1/episodes", request, wire.Opened, secrets.token_hex(16)))

    def state(self, episode_id: str) -> Flow[wire.EpisodeState]:
        return (yield from self._get(f"/v1/episodes/{episode_id}", wire.EpisodeState))

    def wait(self, episode_id: str, hours: float, key: str) -> Flow[wire.Waited]:
        message = wire.WaitRequest(hours=hours)
        return (yield from self._post(f"/v1/episodes/{episode_id}/wait", message, wire.Waited, key))

    def submit(self, episode_id: str, request: wire.SubmitRequest) -> Flow[wire.Verdict]:
        return (
            yield from self._post(f"/v1/episodes/{episode_id}/submit", request, wire.Verdict, f"{episode_id}-submit")
        )

    def close(self, episode_id: str) -> Flow[wire.Closed]:
        return (yield from self._post(f"/v1/episodes/{episode_id}/close", None, wire.Closed, f"{episode_id}-close"))

    def diff(self, episode_id: str) -> Flow[wire.Diff]:
        return (yield from self._get(f"/v1/episodes/{episode_id}/diff", wire.Diff))

    def trajectory(self, episode_id: str) -> Flow[wire.Trajectory]:
        return (yield from self._get(f"/v1/episodes/{episode_id}/trajectory", wire.Trajectory))

    def report(self) -> Flow[wire.Report]:
        return (yield from self._get("/v1/report", wire.Report))

    def reset_playground(self) -> Flow[None]:
        headers = {**self._headers, "idempotency-key": secrets.token_hex(16)}
        incoming = yield Outgoing("POST", f"{self.url}/v1/playground/reset", headers)
        if incoming.status >= 300:
            raise _refused(incoming)

    def _get(self, path: str, answer: type[M]) -> Flow[M]:
        return _parsed(answer, (yield Outgoing("GET", self.url + path, self._headers)))

    def _post(self, path: str, message: BaseModel | None, answer: type[M], key: str) -> Flow[M]:
        headers = {**self._headers, "content-type": "application/json", "idempotency-key": key}
        content = b"" if message is None else message.model_dump_json().encode()
        return _parsed(answer, (yield Outgoing("POST", self.url + path, headers, content, _PATIENCE_SECONDS)))


def _parsed(kind: type[M], incoming: Incoming, also: int = 200) -> M:
    if incoming.status >= 300 and incoming.status != also:
        raise _refused(incoming)
    try:
        return kind.model_validate_json(incoming.content)
    except ValidationError as error:
        raise WireMismatch(f"control answered what is no {kind.__name__}: {error.errors()[:3]}") from error


def _refused(incoming: Incoming) -> DayshiftError:
    try:
        problem = wire.Problem.model_validate_json(incoming.content)
    except ValidationError:
        return ServiceBroke("control", incoming.status, incoming.content.decode(errors="replace"))
    if incoming.status == 429:
        return AtCapacity(problem)
    if incoming.status == 503 and problem.retry_after is not None:
        return NotNow(problem)
    if incoming.status >= 500:
        return ServiceBroke("control", incoming.status, problem.message)
    return ControlRefused(incoming.status, problem)
