"""Exports recordings as a Minari dataset."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from dayshift.env import Observation, build_observation
from dayshift.errors import MissingExtra, UsageError
from dayshift.export import filter_trainable
from dayshift.operations import Catalogue
from dayshift.spaces import MAX_BODY_CHARS, CallSpace, observation_space
from dayshift.step import Step
from dayshift.trajectory import RecordedStep, Trajectory


def export_minari(trajectories: Iterable[Trajectory], operations: Catalogue, dataset_id: str) -> Any:
    """Writes scored, unflagged episodes as a local dataset for `minari.load_dataset(dataset_id)`."""
    minari, buffer_class = _import_minari()
    episodes = [
        _build_buffer(buffer_class, trajectory, operations)
        for trajectory in filter_trainable(trajectories)
        if _is_encodable(trajectory, operations)
    ]
    if not episodes:
        raise UsageError("there is no scored episode to export")
    return minari.create_dataset_from_buffers(
        dataset_id,
        episodes,
        action_space=CallSpace(operations),
        observation_space=observation_space(),
        data_format="arrow",
        description="Episodes recorded in Dayshift.",
    )


def _is_encodable(trajectory: Trajectory, operations: Catalogue) -> bool:
    """An operation that no product offers is not a member of the Discrete space."""
    return all(step.operation in operations for step in trajectory.steps)


def _build_buffer(buffer_class: Any, trajectory: Trajectory, operations: Catalogue) -> Any:
    steps = trajectory.steps
    rewards = [0.0] * (len(steps) - 1) + [trajectory.reward]
    budget = trajectory.manifest.budget
    budget_spent = budget is not None and len(steps) > budget.steps
    last = [False] * (len(steps) - 1)
    return buffer_class(
        seed=trajectory.manifest.open.seed,
        observations=_stack(_build_observations(trajectory)),
        actions={
            "operation": [np.int64(operations.index(step.operation)) for step in steps],
            "arguments": [json.dumps(step.arguments) for step in steps],
        },
        rewards=rewards,
        terminations=[*last, not budget_spent],
        truncations=[*last, budget_spent],
    )


def _build_observations(trajectory: Trajectory) -> list[Observation]:
    manifest = trajectory.manifest
    total = None if manifest.budget is None else manifest.budget.steps
    first = build_observation(manifest.brief, None, manifest.clock, total, MAX_BODY_CHARS)
    later = [
        build_observation(manifest.brief, _to_step(step), step.clock, _steps_left(total, step.number), MAX_BODY_CHARS)
        for step in trajectory.steps
    ]
    return [first, *later]


def _steps_left(total: int | None, used: int) -> int | None:
    return None if total is None else max(0, total - used)


def _to_step(step: RecordedStep) -> Step:
    return Step(
        number=step.number,
        call=step.call,
        product=step.product,
        method=step.method,
        target=step.target,
        request=step.request.encode(),
        status=step.status,
        body=step.answer_bytes,
        revision=step.revision,
        clock=step.clock,
        key=step.key,
        milliseconds=step.milliseconds,
        fault=step.fault,
    )


def _stack(observations: list[Observation]) -> dict[str, list[Any]]:
    return {key: [dict(observation)[key] for observation in observations] for key in Observation.__annotations__}


def _import_minari() -> tuple[Any, Any]:
    try:
        import minari  # an extra
        from minari.data_collector import EpisodeBuffer  # an extra
    except ImportError as error:
        raise MissingExtra("minari", "minari") from error
    return minari, EpisodeBuffer
