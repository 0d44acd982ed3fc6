"""The harness's door of a product: open, plant, verify, diff, advance, close."""

import asyncio
import base64
import hmac
import secrets
from collections.abc import Awaitable
from typing import Any

from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.kernel import checks
from services.kernel.answers import Json
from services.kernel.changes import Change, net
from services.kernel.colleagues import Edit
from services.kernel.direct import Direct
from services.kernel.door_messages import AdvanceMessage, AskMessage, OpenMessage, VerifyMessage, VisitsMessage
from services.kernel.episodes import Episode, EpisodeExists, Episodes, Opening, Step, UnknownEpisode, UnknownWorld
from services.kernel.product import Product
from services.kernel.telemetry import Telemetry
from services.kernel.template import TemplateTouched
from services.kernel.visitors import Visit, Visitors
from services.kernel.world import World

_SLICE_MS = 6 * 3_600_000


class ControlDoor:
    """Lets in whoever holds the door's secret; everybody else learns nothing, not even which paths exist."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health" and not self._admits(scope):
            await _refused(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(given, self._expected)


_refused = Response(status_code=401)


class House:
    """One product process behind its door: what control may ask of it."""

    def __init__(self, product: Product, episodes: Episodes, telemetry: Telemetry) -> None:
        self.product = product
        self.episodes = episodes
        self.telemetry = telemetry
        self.visitors = Visitors(product)
        # Tells a restarted process from the one that held the episodes.
        self.instance = secrets.token_hex(8)
        self.fatal: str | None = None
        # Set where there is a registry: how long control's look confirms that this process owns what it holds.
        self.lease_seconds: float | None = None

    def start_over(self) -> None:
        self.instance = secrets.token_hex(8)

    async def open(self, message: OpenMessage) -> dict[str, Any]:
        episode = self.episodes.open(
            Opening(
                id=message.episode_id,
                credential=message.credential,
                seed=message.seed,
                world=message.world,
                faults=message.faults,
                steps=message.steps,
                leased=message.leased,
            )
        )
        try:
            self._plant(episode, message)
        except BaseException:
            self.episodes.close(episode)
            raise
        return self.state(episode)

    def _plant(self, episode: Episode, message: OpenMessage) -> None:
        world = episode.world
        world.actor = "house"
        for planted in message.planted:
            table = self.product.table(planted.table)
            if planted.row is None:
                world.remove(table, planted.key, "planted")
            else:
                world.save(table, planted.row, "planted")
        for kind, used in message.counters.items():
            world.ids.reserve(kind, used)
        episode.planted = world.revision
        episode.meanwhile = [
            Edit(edit.after_steps, self.product.table(edit.table), edit.key, edit.values) for edit in message.meanwhile
        ]

    async def advance(self, episode: Episode, to_ms: int) -> dict[str, Any]:
        async with episode.lock:
            world = episode.world
            if to_ms > world.clock.now_ms():
                before = world.revision
                world.actor = "time"
                world.begin()
                try:
                    await self._pass_time(world, to_ms)
                except BaseException as error:
                    world.undo()
                    episode.break_down(f"{type(error).__name__} while time passed: {error}")
                    self.telemetry.broke(episode.id, episode.broken or "")
                    raise
                world.keep()
                return {**self.state(episode), "changes": world.revision - before}
            return {**self.state(episode), "changes": 0}

    async def _pass_time(self, world: World, to_ms: int) -> None:
        """Some hours at a time: days in which much falls due must not keep everybody else's requests waiting."""
        while (now := world.clock.now_ms()) < to_ms:
            self.product.advance(world, min(to_ms, now + _SLICE_MS))
            await asyncio.sleep(0)

    async def verify(self, episode: Episode, message: VerifyMessage) -> dict[str, Any]:
        async with episode.lock:
            questions = [checks.parse(self.product.checks, one.name, one.arguments) for one in message.checks]
            await self._settle(episode)
            # Before the state: a check that cannot be answered is part of it.
            findings = [_finding(await self._asked(episode, question)) for question in questions]
            looked = {
                **self.state(episode),
                "findings": findings,
                "changes": _history(episode),
            }
            return {**looked, **self._farewell(episode)} if message.close else looked

    async def ask(self, episode: Episode, message: AskMessage) -> dict[str, Any]:
        async with episode.lock:
            questions = [checks.parse(self.product.checks, one.name, one.arguments) for one in message.checks]
            await self._settle(episode)
            findings = [_finding(await self._asked(episode, question)) for question in questions]
            return {"findings": findings, "broken": episode.broken}

    async def visit(self, episode: Episode, message: VisitsMessage) -> dict[str, Any]:
        """What a visitor breaks is the house's failure, never the agent's."""
        answers = []
        async with episode.lock:
            for one in message.visits:
                visit = Visit(one.user, one.actor, one.method, one.path, one.query, one.body)
                try:
                    answer = await self.visitors.serve(episode.world, visit)
                except Exception as error:
                    episode.break_down(f"{type(error).__name__} while {one.actor} {one.user} used it: {error}")
                    self.telemetry.broke(episode.id, episode.broken or "")
                    raise
                answers.append({"status": answer.status, "body": _text(answer.body)})
            return {"answers": answers, "clock_ms": episode.world.clock.now_ms()}

    async def diff(self, episode: Episode) -> dict[str, Any]:
        async with episode.lock:
            await self._settle(episode)
            return {**self.state(episode), "changes": _changes(episode.world.changes(episode.planted))}

    async def close(self, episode: Episode) -> dict[str, Any]:
        async with episode.lock:
            await self._settle(episode)
            changes = _history(episode)
            return {**self._farewell(episode), "changes": changes}

    async def _settle(self, episode: Episode) -> None:
        """What the agent did outside the rows is its doing like the rest."""
        episode.world.actor = "agent"
        try:
            await self.product.settle(episode.world)
        except Exception as error:  # noqa: BLE001 - without its diff an episode cannot be judged, whatever the reason
            episode.break_down(f"{type(error).__name__} while its diff was taken: {error}")
            self.telemetry.broke(episode.id, episode.broken or "")
        finally:
            episode.world.actor = "house"

    async def _asked(self, episode: Episode, question: checks.Check) -> checks.Finding:
        """A check that cannot be answered is the house's failure: nothing is scored for it."""
        try:
            found = question.ask(episode.world)
            return await found if isinstance(found, Awaitable) else found
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours and not the agent's
            episode.break_down(f"{type(error).__name__} in {type(question).__name__}: {error}")
            self.telemetry.broke(episode.id, episode.broken or "")
            return question.failed("the question could not be answered")

    def _farewell(self, episode: Episode) -> dict[str, Any]:
        farewell = {**self.state(episode), "trajectory": [_step(step) for step in episode.trajectory]}
        try:
            self.episodes.close(episode)
        except TemplateTouched as touched:
            self.fatal = str(touched)
            raise
        return farewell

    def state(self, episode: Episode) -> dict[str, Any]:
        return {
            "episode_id": episode.id,
            "steps": episode.steps,
            "revision": episode.world.revision,
            "planted": episode.planted,
            "clock_ms": episode.world.clock.now_ms(),
            "broken": episode.broken,
            "faults": [{"kind": f.kind, "operation": f.operation, "seconds": f.seconds} for f in episode.faults],
            "strangers": self.episodes.strangers.count(episode.id),
            "idle_seconds": self.episodes.idle(episode),
            "instance": self.instance,
        }

    def health(self) -> dict[str, Any]:
        return {
            "status": "ok" if self.fatal is None else "broken",
            "because": self.fatal,
            "product": self.product.name,
            "instance": self.instance,
            "episodes": len(self.episodes),
            "worlds": self.episodes.worlds.fingerprints(),
        }

    def summary(self) -> list[dict[str, Any]]:
        if self.lease_seconds is not None:
            self.episodes.stay_registered(self.lease_seconds)
        return [
            {
                "episode_id": episode.id,
                "idle_seconds": self.episodes.idle(episode),
                "broken": episode.broken,
                "leased": episode.opening.leased,
                "steps": episode.steps,
            }
            for episode in self.episodes
        ]


def create_control_door(house: House, token: str) -> ASGIApp:
    api = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)

    @api.get("/health")
    async def health() -> Response:
        return Json(house.health(), 200 if house.fatal is None else 503)

    @api.get("/metrics")
    async def metrics() -> Response:
        return Response(_gauged(house), media_type="text/plain; version=0.0.4")

    @api.get("/control/episodes")
    async def summary() -> Response:
        return Json({"instance": house.instance, "episodes": house.summary()})

    @api.post("/control/episodes")
    async def open_episode(message: OpenMessage) -> Response:
        return Json(await house.open(message), 201)

    @api.get("/control/episodes/{episode_id}")
    async def state(episode_id: str) -> Response:
        return Json(house.state(house.episodes.by_id(episode_id)))

    @api.post("/control/episodes/{episode_id}/advance")
    async def advance(episode_id: str, message: AdvanceMessage) -> Response:
        return Json(await house.advance(house.episodes.by_id(episode_id), message.to_ms))

    @api.post("/control/episodes/{episode_id}/verify")
    async def verify(episode_id: str, message: VerifyMessage) -> Response:
        return Json(await house.verify(house.episodes.by_id(episode_id), message))

    @api.post("/control/episodes/{episode_id}/ask")
    async def ask(episode_id: str, message: AskMessage) -> Response:
        return Json(await house.ask(house.episodes.by_id(episode_id), message))

    @api.post("/control/episodes/{episode_id}/visit")
    async def visit(episode_id: str, message: VisitsMessage) -> Response:
        return Json(await house.visit(house.episodes.by_id(episode_id), message))

    @api.get("/control/episodes/{episode_id}/diff")
    async def diff(episode_id: str) -> Response:
        return Json(await house.diff(house.episodes.by_id(episode_id)))

    @api.get("/control/episodes/{episode_id}/trajectory")
    async def trajectory(episode_id: str) -> Response:
        episode = house.episodes.by_id(episode_id)
        return Json({"steps": [_step(step) for step in episode.trajectory]})

    @api.post("/control/episodes/{episode_id}/close")
    async def close(episode_id: str) -> Response:
        return Json(await house.close(house.episodes.by_id(episode_id)))

    return ControlDoor(Direct(api, _EXPLAINED), token)


_EXPLAINED: dict[type[Exception], int] = {
    UnknownEpisode: 404,
    UnknownWorld: 422,
    checks.UnknownCheck: 422,
    EpisodeExists: 409,
    ValueError: 422,
}


def _gauged(house: House) -> bytes:
    house.telemetry.open_episodes.set(len(house.episodes))
    house.telemetry.open_forks.set(sum(forks.open_count for _, forks in house.episodes.worlds))
    house.telemetry.idle_forks.set(sum(forks.idle_count for _, forks in house.episodes.worlds))
    return house.telemetry.exposition()


def _finding(found: checks.Finding) -> dict[str, Any]:
    """The score crosses as an exact fraction: a float would round it."""
    told = {"check": found.check, "score": str(found.score), "held": found.held, "because": found.because}
    flags = [{"tag": tag, "evidence": evidence} for tag, evidence in found.flags]
    return {**told, "flags": flags, "names": found.names}


def _history(episode: Episode) -> dict[str, Any]:
    """Of a whole episode, days of other people's work included: images pass as the text that they are kept in.

    Whoever needs one reads it; few of them are ever needed, and to take them all apart on the way costs more than them.
    """
    return {
        "history": [
            {
                "revision": revision,
                "at": at,
                "actor": actor,
                "event": event,
                "table": table,
                "id": row_id,
                "before": before,
                "after": after,
            }
            for revision, _, at, actor, event, table, row_id, before, after in episode.world.changes_as_written(
                episode.planted
            )
        ]
    }


def _changes(history: list[Change]) -> dict[str, Any]:
    return {
        "history": [
            {
                "revision": change.revision,
                "at": change.at,
                "actor": change.actor,
                "event": change.event,
                "table": change.table,
                "id": change.row_id,
                "before": change.before,
                "after": change.after,
            }
            for change in history
        ],
        "net": [
            {"table": change.table, "id": change.row_id, "before": change.before, "after": change.after}
            for change in net(history)
        ],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "operation": step.operation,
        "method": step.method,
        "path": step.path,
        "query": step.query,
        "request": _text(step.body),
        "status": step.answer.status,
        "answer": _text(step.answer.body),
        "revision": step.revision,
        "clock_ms": step.clock_ms,
        "fault": None if step.fault is None else step.fault.kind,
        "milliseconds": step.milliseconds,
        "key": step.key,
        "replayed": step.replayed,
    }


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(body).decode()
