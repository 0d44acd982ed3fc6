"""Replay: serves the recorded requests again, compares every byte, and leaves an episode open at a step."""

import asyncio
import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict

from dayshift.calls import WAIT
from dayshift.episode_protocol import REQUEST_NUMBER_HEADER
from dayshift.errors import DayshiftError, UsageError
from dayshift.http_flow import HttpRequest
from dayshift.trajectory import RecordedStep, Trajectory, decode_text, encode_text
from dayshift.wire import Opened

from services.console.link import ControlLink
from services.console.play import join

MOST_STEPS = 5_000
_AT_ONCE = 2
_TICK_SECONDS = 1.0
_EXCERPT = 80


class Difference(TypedDict):
    """The first value that differs."""

    step: int
    what: str
    recorded: str
    replayed: str


class ReplayResult(TypedDict):
    """What came of serving steps again; without a difference every byte was the same."""

    identical: bool
    step: int
    compared_bytes: int
    difference: Difference | None


class Replayer:
    """Opens the same instance anew, and sends what was sent."""

    def __init__(self, link: ControlLink) -> None:
        self._link = link
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def replay(self, trajectory: Trajectory, last: int) -> ReplayResult:
        """Serves the steps up to `last` again, in an episode of its own that is closed afterwards."""
        async with self._slots:
            opened = await self._open(trajectory)
            try:
                return await self._serve(trajectory, opened, last)
            finally:
                await self._close(opened)

    async def fork(self, trajectory: Trajectory, last: int) -> dict[str, Any]:
        """Leaves an episode open in the state after step `last`; it has a lease as every other one."""
        async with self._slots:
            opened = await self._open(trajectory)
            try:
                result = await self._serve(trajectory, opened, last)
            except BaseException:
                await self._close(opened)
                raise
        if result["difference"] is not None and result["difference"]["what"] != "the answer":
            await self._close(opened)
            raise UsageError(f"the state cannot be reached: {_describe(result['difference'])}")
        return {
            "episode_id": opened.episode_id,
            "brief": opened.brief,
            "identical": result["identical"],
            "difference": result["difference"],
            "products": {
                name: {"base_url": access.base_url, "credential": access.credential}
                for name, access in opened.products.items()
            },
        }

    async def _open(self, trajectory: Trajectory) -> Opened:
        opened = await self._link.run(self._link.address.control.open(trajectory.manifest.open))
        if trajectory.manifest.salt != opened.salt:
            await self._close(opened)
            raise UsageError("this stack has another salt than the one that recorded the episode: it has other tasks")
        return opened

    async def _close(self, opened: Opened) -> None:
        try:
            await self._link.run(self._link.address.control.close(opened.episode_id))
        except DayshiftError:
            # It ends with its lease.
            return

    async def _serve(self, trajectory: Trajectory, opened: Opened, last: int) -> ReplayResult:
        if not 0 <= last <= min(len(trajectory.steps), MOST_STEPS):
            raise UsageError(f"there is no step {last}")
        if trajectory.manifest.fingerprint != opened.fingerprint:
            difference = _difference(0, "the world", trajectory.manifest.fingerprint, opened.fingerprint)
            return {"identical": False, "step": 0, "compared_bytes": 0, "difference": difference}
        moved = {name: self._link.reachable(access) for name, access in opened.products.items()}
        protocol = await self._link.run(
            join(self._link, trajectory.manifest.open, opened.model_copy(update={"products": moved}))
        )
        synchronized, compared = opened.clock, 0
        first: Difference | None = None
        for step in trajectory.steps[:last]:
            if step.operation == WAIT:
                hours = float(str(step.arguments.get("hours", 0)))
                control = self._link.address.control
                waited = await self._link.run(
                    control.wait(opened.episode_id, hours, f"{opened.episode_id}-{step.number}")
                )
                synchronized = waited.clock
                continue
            if not step.product or not step.sent:
                continue
            url = moved[step.product].base_url + step.target
            headers = {**protocol.headers[step.product], **_own_headers(step, synchronized)}
            response = await self._link.send(HttpRequest(step.method, url, headers, decode_text(step.request)))
            compared += len(response.content)
            first = first or _compare(step, response.status, encode_text(response.content))
        return {"identical": first is None, "step": last, "compared_bytes": compared, "difference": first}


def make_curl(step: RecordedStep, base_url: str) -> str:
    """The request as a command; the credential is a variable, never a value."""
    parts = ["curl", "-sS", "-X", step.method, shlex.quote(base_url + step.target)]
    parts += ["-H", '"Authorization: Bearer $CREDENTIAL"']
    for name, value in _own_headers(step, step.clock).items():
        if name != REQUEST_NUMBER_HEADER:
            parts += ["-H", shlex.quote(f"{name}: {value}")]
    if step.request:
        parts += ["--data-binary", shlex.quote(decode_text(step.request).decode("utf-8", "replace"))]
    return " ".join(parts)


def make_sdk_snippet(trajectory: Trajectory, step: RecordedStep) -> str:
    """The call through our client, in an episode of the same instance."""
    request = trajectory.manifest.open
    return (
        "from dayshift import Episode, call\n\n"
        f"with Episode.open({request.task!r}, seed={request.seed}, split={request.split!r}, "
        f"world={request.world!r}, faults={request.faults!r}) as episode:\n"
        f"    step = episode.step(call({step.operation!r}, **{step.arguments!r}))\n"
        "    print(step.status, step.text)\n"
    )


def _own_headers(step: RecordedStep, synchronized: str) -> dict[str, str]:
    headers = {}
    if step.request:
        headers["content-type"] = _guess_media_type(step.request)
    if step.key:
        headers["idempotency-key"] = step.key
    ticks = (_seconds(step.clock) - _seconds(synchronized)) / _TICK_SECONDS
    # The episode has one clock: each product is told how many requests came since all had the same time.
    headers[REQUEST_NUMBER_HEADER] = str(max(0, round(ticks)))
    return headers


def _guess_media_type(body: str) -> str:
    """Recordings hold bodies and not their types; each of our products' forms is known by how it begins."""
    if body[:1] in ("{", "["):
        return "application/json"
    if body.startswith("--"):
        return f"multipart/form-data; boundary={body[2:].splitlines()[0]}"
    if body.startswith("base64:") or "=" not in body:
        return "application/octet-stream"
    return "application/x-www-form-urlencoded"


def _seconds(clock: str) -> float:
    return datetime.fromisoformat(clock).timestamp()


def _compare(step: RecordedStep, status: int, answer: str) -> Difference | None:
    if step.status != status:
        return _difference(step.number, "the status", str(step.status), str(status))
    return None if step.answer == answer else _difference(step.number, "the answer", step.answer, answer)


def _difference(step: int, what: str, recorded: str, replayed: str) -> Difference:
    pairs = enumerate(zip(recorded, replayed, strict=False))
    at = next((index for index, (a, b) in pairs if a != b), min(len(recorded), len(replayed)))
    start, end = max(0, at - _EXCERPT), at + _EXCERPT
    return {"step": step, "what": what, "recorded": recorded[start:end], "replayed": replayed[start:end]}


def _describe(difference: Difference) -> str:
    return f"{difference['what']} of step {difference['step']} differs"


def find_step(steps: Sequence[RecordedStep], number: int) -> RecordedStep:
    for step in steps:
        if step.number == number:
            return step
    raise UsageError(f"there is no step {number}")
