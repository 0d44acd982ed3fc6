"""ProductHost: what control may ask of one product process."""

import asyncio
import base64
import secrets
from collections.abc import Awaitable

from services.kernel import checks
from services.kernel.actor_requests import ActorRequest, ActorRequests
from services.kernel.changes import AGENT, AGENTS, PLANTED, SYSTEM, TIME, Change, net
from services.kernel.concurrent_edits import ConcurrentEdit
from services.kernel.episodes import Episode, Episodes, Opening, Step
from services.kernel.harness_messages import (
    ActorRequestsMessage,
    CheckMessage,
    FindMessage,
    HoldMessage,
    OpenMessage,
    VerifyMessage,
)
from services.kernel.harness_replies import (
    ActorAnswerReply,
    ActorAnswersReply,
    AdvanceReply,
    ChangeReply,
    ClosedReply,
    DiffReply,
    EpisodeSummaryReply,
    FindingReply,
    FindingsReply,
    HealthReply,
    HistoryReply,
    StateReply,
    StepReply,
    TailReply,
    VerifyReply,
)
from services.kernel.product import Product
from services.kernel.telemetry import Telemetry
from services.kernel.template import TemplateTouched
from services.kernel.world import World

_SLICE_MS = 6 * 3_600_000
_TAIL_STEPS = 50
_TAIL_CHANGES = 500


class ProductHost:
    """One product process: its episodes, and the operations of the harness API on them."""

    def __init__(self, product: Product, episodes: Episodes, telemetry: Telemetry) -> None:
        self.product = product
        self.episodes = episodes
        self.telemetry = telemetry
        self.actor_requests = ActorRequests(product)
        # Tells a restarted process from the one that held the episodes.
        self.instance = secrets.token_hex(8)
        self.fatal: str | None = None
        # Set where there is a registry: how long control's look confirms that this process owns what it holds.
        self.lease_seconds: float | None = None

    def start_over(self) -> None:
        self.instance = secrets.token_hex(8)

    async def open(self, message: OpenMessage) -> StateReply:
        episode = self.episodes.open(
            Opening(
                id=message.episode_id,
                credential=message.credential,
                seed=message.seed,
                world=message.world,
                faults=message.faults,
                steps=message.steps,
                leased=message.leased,
                further_credentials=tuple(message.further_credentials),
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
        world.actor = SYSTEM
        if message.ids_key is not None:
            world.seed_ids(message.ids_key)
        for planted in message.planted:
            table = self.product.table(planted.table)
            if planted.row is None:
                world.remove(table, planted.key, PLANTED)
            else:
                world.save(table, planted.row, PLANTED)
        for counter, used in message.counters.items():
            world.ids.reserve(counter, used)
        self.product.on_open(world)
        if message.playground:
            self.product.on_playground(world)
        episode.planted = world.revision
        episode.concurrent_edits = [
            ConcurrentEdit(edit.after_steps, self.product.table(edit.table), edit.key, edit.values)
            for edit in message.concurrent_edits
        ]

    async def advance(self, episode: Episode, to_ms: int) -> AdvanceReply:
        async with episode.lock:
            world = episode.world
            before = world.revision
            if to_ms > world.clock.now_ms():
                world.actor = TIME
                world.begin()
                try:
                    await self._pass_time(world, to_ms)
                except BaseException as error:
                    world.undo()
                    self._break(episode, f"{type(error).__name__} while time passed: {error}")
                    raise
                world.keep()
            episode.synchronized_ms = to_ms
            return {**self.state(episode), "changes": world.revision - before}

    async def _pass_time(self, world: World, to_ms: int) -> None:
        """Advances some hours at a time: days in which much falls due must not block everybody else's requests."""
        while (now := world.clock.now_ms()) < to_ms:
            self.product.advance(world, min(to_ms, now + _SLICE_MS))
            await asyncio.sleep(0)

    async def news(self, episode: Episode, since: int) -> list[str]:
        """What others did after that revision, in the words in which the product tells its users."""
        async with episode.lock:
            return self.product.news(
                episode.world, [change for change in episode.world.changes(since) if change.actor != AGENT]
            )

    async def verify(self, episode: Episode, message: VerifyMessage) -> VerifyReply:
        async with episode.lock:
            # Before the state, which says whether a check broke.
            findings = await self._find(episode, message.checks)
            state = self.state(episode)
            reply: VerifyReply = {**state, "findings": findings, "changes": _history(episode)}  # type: ignore[typeddict-item]  # the trajectory may be absent
            if message.close:
                reply["trajectory"] = [_step(step) for step in episode.trajectory]
                self._close(episode)
            return reply

    async def find(self, episode: Episode, message: FindMessage) -> FindingsReply:
        async with episode.lock:
            findings = await self._find(episode, message.checks)
            return {"findings": findings, "broken": episode.broken}

    async def serve_actors(self, episode: Episode, message: ActorRequestsMessage) -> ActorAnswersReply:
        """A request of an actor that breaks us is our failure, never the agent's."""
        answers: list[ActorAnswerReply] = []
        async with episode.lock:
            for item in message.requests:
                request = ActorRequest(item.user, item.actor, item.method, item.path, item.query, item.body)
                try:
                    answer = await self.actor_requests.serve(episode.world, request)
                except Exception as error:
                    self._break(episode, f"{type(error).__name__} while {item.actor} {item.user} used it: {error}")
                    raise
                answers.append({"status": answer.status, "body": _text(answer.body)})
            return {"answers": answers, "clock_ms": episode.world.clock.now_ms()}

    async def diff(self, episode: Episode) -> DiffReply:
        async with episode.lock:
            await self._settle(episode)
            return {**self.state(episode), "changes": _diff(episode.world.changes(episode.planted))}

    def tail(self, episode: Episode, after_step: int, after_revision: int) -> TailReply:
        """What came after these marks, in bounded portions. It waits for nobody: onlookers must not hold up the agent.

        While a request is served, its changes may yet be undone: they come with a later look.
        """
        first = max(0, after_step - episode.steps_dropped)
        steps = episode.trajectory[first : first + _TAIL_STEPS]
        after_revision = max(after_revision, episode.planted)
        changes = [] if episode.lock.locked() else _history(episode, after_revision)["history"][:_TAIL_CHANGES]
        return {
            "steps": [_step(step) for step in steps],
            "changes": changes,
            "next_step": episode.steps_dropped + first + len(steps),
            "next_revision": changes[-1]["revision"] if changes else after_revision,
            "state": self.state(episode),
        }

    def hold(self, episode: Episode, message: HoldMessage) -> StateReply:
        if message.held:
            self.episodes.hold(episode, message.credential)
        else:
            self.episodes.release(episode)
        return self.state(episode)

    async def close(self, episode: Episode) -> ClosedReply:
        async with episode.lock:
            await self._settle(episode)
            reply: ClosedReply = {
                **self.state(episode),
                "trajectory": [_step(step) for step in episode.trajectory],
                "changes": _history(episode),
            }
            self._close(episode)
            return reply

    def trajectory(self, episode: Episode) -> list[StepReply]:
        return [_step(step) for step in episode.trajectory]

    async def _find(self, episode: Episode, messages: list[CheckMessage]) -> list[FindingReply]:
        questions = [checks.parse(self.product.checks, message.name, message.arguments) for message in messages]
        await self._settle(episode)
        return [await self._answer(episode, check) for check in questions]

    async def _settle(self, episode: Episode) -> None:
        """Writes down as rows what the agent did outside of them."""
        episode.world.actor = AGENT
        try:
            await self.product.settle(episode.world)
        except Exception as error:  # noqa: BLE001 - without its diff an episode cannot be judged, whatever the reason
            cause = f"{type(error).__name__} while its diff was taken: {error}"
            self._break(episode, cause, by_agent=episode.steps > 0)
        finally:
            episode.world.actor = SYSTEM

    async def _answer(self, episode: Episode, check: checks.Check) -> FindingReply:
        """A check that raises is our failure; on a world that the agent wrote to, harm is judged all the same."""
        try:
            finding = check.run(episode.world)
            return _finding(await finding if isinstance(finding, Awaitable) else finding)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is our failure and no finding
            cause = f"{type(error).__name__} in {type(check).__name__}: {error}"
            self._break(episode, cause, by_agent=_has_written(episode))
            return {**_finding(check.fails("the question could not be answered")), "unanswered": True}

    def _break(self, episode: Episode, cause: str, *, by_agent: bool = False) -> None:
        episode.break_down(cause, by_agent=by_agent)
        self.telemetry.broke(episode.id, episode.broken or cause)

    def _close(self, episode: Episode) -> None:
        try:
            self.episodes.close(episode)
        except TemplateTouched as error:
            self.fatal = str(error)
            raise

    def state(self, episode: Episode) -> StateReply:
        return {
            "episode_id": episode.id,
            "steps": episode.steps,
            "revision": episode.world.revision,
            "planted": episode.planted,
            "clock_ms": episode.world.clock.now_ms(),
            "broken": episode.broken,
            "broken_by_agent": episode.broken_by_agent,
            "faults": [
                {"kind": fault.kind, "operation": fault.operation, "seconds": fault.seconds} for fault in episode.faults
            ],
            "unknown_credentials": self.episodes.unknown_credentials.count(episode.id),
            "idle_seconds": self.episodes.idle(episode),
            "instance": self.instance,
        }

    def health(self) -> HealthReply:
        return {
            "status": "ok" if self.fatal is None else "broken",
            "because": self.fatal,
            "product": self.product.name,
            "instance": self.instance,
            "episodes": len(self.episodes),
            "worlds": self.episodes.worlds.fingerprints(),
        }

    def summary(self) -> list[EpisodeSummaryReply]:
        if self.lease_seconds is not None:
            self.episodes.stay_registered(self.lease_seconds)
        return [
            {
                "episode_id": episode.id,
                "idle_seconds": self.episodes.idle(episode),
                "broken": episode.broken,
                "broken_by_agent": episode.broken_by_agent,
                "leased": episode.opening.leased,
                "steps": episode.steps,
                "revision": episode.world.revision,
                "clock_ms": episode.world.clock.now_ms(),
                "held": episode.hold is not None,
            }
            for episode in self.episodes
        ]

    def metrics(self) -> bytes:
        self.telemetry.open_episodes.set(len(self.episodes))
        self.telemetry.open_forks.set(sum(forks.open_count for _, forks in self.episodes.worlds))
        self.telemetry.idle_forks.set(sum(forks.idle_count for _, forks in self.episodes.worlds))
        return self.telemetry.exposition()


def _has_written(episode: Episode) -> bool:
    return any(row[3] in AGENTS for row in episode.world.changes_as_written(episode.planted))


def _finding(finding: checks.Finding) -> FindingReply:
    return {
        "check": finding.check,
        "score": str(finding.score),
        "held": finding.held,
        "because": finding.because,
        "flags": [{"tag": tag, "evidence": evidence} for tag, evidence in finding.flags],
        "names": finding.names,
    }


def _history(episode: Episode, since: int | None = None) -> HistoryReply:
    """Images stay the text that they are stored as: parsing all of them costs more than the few that are needed."""
    rows = episode.world.changes_as_written(episode.planted if since is None else since)
    return {
        "history": [
            ChangeReply(
                revision=revision, at=at, actor=actor, event=event, table=table, id=row_id, before=before, after=after
            )
            for revision, _, at, actor, event, table, row_id, before, after in rows
        ]
    }


def _diff(history: list[Change]) -> HistoryReply:
    return {
        "history": [
            ChangeReply(
                revision=change.revision,
                at=change.at,
                actor=change.actor,
                event=change.event,
                table=change.table,
                id=change.row_id,
                before=change.before,
                after=change.after,
            )
            for change in history
        ],
        "net": [
            {"table": change.table, "id": change.row_id, "before": change.before, "after": change.after}
            for change in net(history)
        ],
    }


def _step(step: Step) -> StepReply:
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
