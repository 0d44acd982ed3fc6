"""Responses of the control API, made from episodes and from the ledger's records."""

from collections.abc import Mapping, Sequence

from dayshift.wire import (
    Budget,
    ChangeOut,
    Diff,
    EpisodePhase,
    EpisodeState,
    McpAccess,
    MenuItem,
    Opened,
    ProductAccess,
    Trajectory,
    TrajectoryStep,
)

from services.control.effort import EpisodeStep
from services.control.ledger import EpisodeRecord
from services.control.open_episode import OpenEpisode, find_breakdown
from services.control.recorded_change import RecordedChange
from services.control.task_setup import TaskSetup
from services.kernel.clock import iso
from services.kernel.harness_replies import ChangeReply, StateReply


def open_state(episode: OpenEpisode, states: Mapping[str, StateReply]) -> EpisodeState:
    breakdown = find_breakdown(states)
    return EpisodeState(
        episode_id=episode.id,
        task=episode.request.task,
        state=EpisodePhase.OPEN,
        outcome=None,
        because=None if breakdown is None else breakdown.cause,
        steps=sum(state["steps"] for state in states.values()),
        clock=iso(max(state["clock_ms"] for state in states.values())),
        revisions={product: state["revision"] for product, state in states.items()},
    )


def make_recorded_state(recorded: EpisodeRecord) -> EpisodeState:
    verdict = recorded.verdict
    return EpisodeState(
        episode_id=recorded.id,
        task=recorded.task,
        state=recorded.phase,
        outcome=None if verdict is None else verdict.outcome,
        because=None if verdict is None else verdict.because,
        steps=recorded.steps,
        clock=recorded.clock,
        revisions=recorded.revisions,
    )


def diff(histories: Mapping[str, Sequence[ChangeReply]]) -> Diff:
    return Diff(
        products={
            product: [_change(RecordedChange(record)) for record in records] for product, records in histories.items()
        }
    )


def _change(change: RecordedChange) -> ChangeOut:
    return ChangeOut(
        revision=change.revision,
        at=iso(change.at),
        actor=change.actor,
        event=change.event,
        table=change.table,
        id=change.id,
        before=change.before,
        after=change.after,
    )


def trajectory(episode_id: str, steps: Sequence[EpisodeStep]) -> Trajectory:
    return Trajectory(episode_id=episode_id, steps=[_step(step) for step in steps])


def _step(step: EpisodeStep) -> TrajectoryStep:
    fields = {name: value for name, value in step.items() if name != "clock_ms"}
    return TrajectoryStep(**fields, clock=iso(step["clock_ms"]))


def product_access(episode: OpenEpisode, credentials: Mapping[str, str]) -> dict[str, ProductAccess]:
    return {
        name: ProductAccess(
            base_url=owner.replica.url,
            credential=credentials[name],
            openapi_url=f"{owner.replica.url}/openapi.json",
        )
        for name, owner in episode.owners.items()
    }


def make_opened(episode: OpenEpisode, mcp_url: str) -> Opened:
    instance = episode.setup.instance
    schema = None if instance is None else instance.answer_schema
    return Opened(
        episode_id=episode.id,
        task=episode.request.task,
        seed=episode.request.seed,
        brief="" if instance is None else instance.brief,
        budget=None if instance is None else Budget(steps=instance.budget.steps, hours=instance.budget.hours),
        products=product_access(episode, episode.credentials),
        fingerprint=episode.setup.fingerprint,
        clock=iso(episode.setup.clock_ms),
        salt=episode.setup.salt,
        answer_schema=None if schema is None else dict(schema),
        menu=_menu(episode.setup),
        mcp=McpAccess(url=mcp_url, credential=episode.office_credential) if mcp_url else None,
    )


def _menu(setup: TaskSetup) -> list[MenuItem] | None:
    if setup.menu is None:
        return None
    return [MenuItem(operation=call.operation, arguments=dict(call.arguments)) for call in setup.menu]
