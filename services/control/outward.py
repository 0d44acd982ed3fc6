"""What control holds, as the control wire shows it."""

from collections.abc import Mapping, Sequence
from typing import Any

from dayshift.wire import (
    Budget,
    ChangeOut,
    Diff,
    EpisodePhase,
    EpisodeState,
    MenuItem,
    Opened,
    ProductAccess,
    Trajectory,
    TrajectoryStep,
)

from services.control.ledger import Recorded
from services.control.live import Live
from services.control.planting import Plot
from services.control.written import Written
from services.kernel.clock import iso


def open_state(live: Live, said: Mapping[str, Mapping[str, Any]]) -> EpisodeState:
    return EpisodeState(
        episode_id=live.id,
        task=live.request.task,
        state=EpisodePhase.OPEN,
        outcome=None,
        because=next((f"{name}: {one['broken']}" for name, one in said.items() if one["broken"]), None),
        steps=sum(one["steps"] for one in said.values()),
        clock=iso(max(one["clock_ms"] for one in said.values())),
        revisions={product: one["revision"] for product, one in said.items()},
    )


def recorded_state(recorded: Recorded) -> EpisodeState:
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


def diff(history: Mapping[str, Sequence[Mapping[str, Any]]]) -> Diff:
    return Diff(
        products={product: [_change(Written(change)) for change in changes] for product, changes in history.items()}
    )


def _change(change: Written) -> ChangeOut:
    told = {name: change[name] for name in change}
    return ChangeOut(**{**told, "at": iso(change["at"])})


def trajectory(episode_id: str, steps: Sequence[Mapping[str, Any]]) -> Trajectory:
    return Trajectory(episode_id=episode_id, steps=[_step(step) for step in steps])


def _step(step: Mapping[str, Any]) -> TrajectoryStep:
    told = {name: value for name, value in step.items() if name != "clock_ms"}
    return TrajectoryStep(**told, clock=iso(step["clock_ms"]))


def opened(live: Live, credentials: dict[str, str]) -> Opened:
    instance = live.plot.instance
    schema = None if instance is None else instance.answer_schema
    return Opened(
        episode_id=live.id,
        task=live.request.task,
        seed=live.request.seed,
        brief="" if instance is None else instance.brief,
        budget=None if instance is None else Budget(steps=instance.budget.steps, hours=instance.budget.hours),
        products={
            name: ProductAccess(
                base_url=owner.replica.url,
                credential=credentials[name],
                openapi_url=f"{owner.replica.url}/openapi.json",
            )
            for name, owner in live.owners.items()
        },
        fingerprint=live.plot.fingerprint,
        clock=iso(live.plot.clock_ms),
        answer_schema=None if schema is None else dict(schema),
        menu=_menu(live.plot),
    )


def _menu(plot: Plot) -> list[MenuItem] | None:
    if plot.menu is None:
        return None
    return [MenuItem(operation=call.operation, arguments=dict(call.arguments)) for call in plot.menu]
