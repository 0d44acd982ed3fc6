"""Recordings as a Minari dataset."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from dayshift.env import Observation, observe
from dayshift.errors import MissingExtra, Misuse
from dayshift.exchange import Exchange
from dayshift.export import trainable
from dayshift.operations import Catalogue
from dayshift.spaces import LONGEST_BODY, CallSpace, observation_space
from dayshift.trajectory import Step, Trajectory


def export_minari(trajectories: Iterable[Trajectory], operations: Catalogue, dataset_id: str) -> Any:
    """Scored, unflagged episodes as a local dataset, to be loaded with `minari.load_dataset(dataset_id)`."""
    minari, buffer = _minari()
    episodes = [_buffer(buffer, one, operations) for one in trainable(trajectories) if _is_callable(one, operations)]
    if not episodes:
        raise Misuse("there is no scored episode to export")
    return minari.create_dataset_from_buffers(
        dataset_id,
        episodes,
        action_space=CallSpace(operations),
        observation_space=observation_space(),
        data_format="arrow",
        description="Episodes recorded in Dayshift.",
    )


def _is_callable(trajectory: Trajectory, operations: Catalogue) -> bool:
    """An operation that nobody offers has no place in a Discrete space."""
    return all(step.operation in operations for step in trajectory.steps)


def _buffer(kind: Any, trajectory: Trajectory, operations: Catalogue) -> Any:
    steps = trajectory.steps
    rewards = [0.0] * (len(steps) - 1) + [trajectory.reward]
    budget = trajectory.manifest.budget
    spent = budget is not None and len(steps) > budget.steps
    last = [False] * (len(steps) - 1)
    return kind(
        seed=trajectory.manifest.open.seed,
        observations=_stacked(_observations(trajectory)),
        actions={
            "operation": [np.int64(operations.index(step.operation)) for step in steps],
            "arguments": [json.dumps(step.arguments) for step in steps],
        },
        rewards=rewards,
        terminations=[*last, not spent],
        truncations=[*last, spent],
    )


def _observations(trajectory: Trajectory) -> list[Observation]:
    manifest = trajectory.manifest
    total = None if manifest.budget is None else manifest.budget.steps
    first = observe(manifest.brief, None, manifest.clock, total, LONGEST_BODY)
    later = [
        observe(manifest.brief, _exchange(step), step.clock, _left(total, step.number), LONGEST_BODY)
        for step in trajectory.steps
    ]
    return [first, *later]


def _left(total: int | None, used: int) -> int | None:
    return None if total is None else max(0, total - used)


def _exchange(step: Step) -> Exchange:
    return Exchange(
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


def _stacked(observations: list[Observation]) -> dict[str, list[Any]]:
    return {key: [dict(one)[key] for one in observations] for key in Observation.__annotations__}


def _minari() -> tuple[Any, Any]:
    try:
        import minari  # late: an extra
        from minari.data_collector import EpisodeBuffer  # late: an extra
    except ImportError as error:
        raise MissingExtra("minari", "minari") from error
    return minari, EpisodeBuffer
