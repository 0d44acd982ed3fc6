"""Exports recordings as a Minari dataset."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from dayshift.errors import MissingExtra, UsageError
from dayshift.export import describe_left_out, filter_trainable
from dayshift.observation import Observation, build_observation
from dayshift.operations import Catalogue
from dayshift.spaces import MAX_BODY_CHARS
from dayshift.step import Step
from dayshift.trajectory import RecordedStep, Trajectory


@dataclass(frozen=True)
class MinariExport:
    """The dataset, the environment that it can recover, and how many episodes are not in it, by the reason."""

    dataset: Any
    environment: str
    left_out: Counter[str]


def export_minari(
    trajectories: Iterable[Trajectory], dataset_id: str, *, control_url: str | None = None, flagged: bool = False
) -> MinariExport:
    """Writes scored, unflagged episodes as a local dataset for `minari.load_dataset(dataset_id)`.

    The environment is the one of the episodes' products, so that `dataset.recover_environment()` has the same spaces.
    The metadata of an episode holds `seed` and `options`, with which `env.reset` opens it again. It needs a running
    stack.
    """
    minari, buffer_class = _import_minari()
    left_out: Counter[str] = Counter()
    trainable = list(filter_trainable(trajectories, flagged=flagged, left_out=left_out))
    env = _make_environment(trainable, control_url)
    try:
        operations = env.unwrapped.operations
        encodable = [trajectory for trajectory in trainable if _is_encodable(trajectory, operations)]
        if unencodable := len(trainable) - len(encodable):
            left_out["with a call of no operation"] = unencodable
        if not encodable:
            raise UsageError(f"there is no episode to export{_describe(left_out)}")
        dataset = minari.create_dataset_from_buffers(
            dataset_id,
            [_build_buffer(buffer_class, trajectory, operations) for trajectory in encodable],
            env=env,
            data_format="arrow",
            description="Episodes recorded in Dayshift.",
        )
    finally:
        env.close()
    return MinariExport(dataset, env.spec.id, left_out)


def _make_environment(trajectories: Sequence[Trajectory], control_url: str | None) -> Any:
    """Makes the environment of the products that the episodes used; options on which all agree are part of it."""
    products = {tuple(trajectory.manifest.products) for trajectory in trajectories}
    env_id = _find_environment(products.pop() if len(products) == 1 else ())
    opened = [trajectory.manifest.open.model_dump() for trajectory in trajectories]
    values = {name: {request[name] for request in opened} for name in ("task", "split", "world", "faults")}
    agreed = {name: found.pop() for name, found in values.items() if len(found) == 1}
    env = gymnasium.make(env_id, control_url=control_url, disable_env_checker=True, **agreed)
    assert env.spec is not None, "gymnasium.make sets it"
    # Whoever recovers the environment has a stack of their own.
    env.spec.kwargs.pop("control_url", None)
    return env


def _find_environment(products: tuple[str, ...]) -> str:
    for env_id, spec in gymnasium.registry.items():
        if env_id.startswith("dayshift/") and products and set(spec.kwargs.get("products", ())) == set(products):
            return env_id
    return "dayshift/Office-v0"


def _is_encodable(trajectory: Trajectory, operations: Catalogue) -> bool:
    """An operation that no product offers is not a member of the Discrete space."""
    return all(step.operation in operations for step in trajectory.steps)


def _describe(left_out: Counter[str]) -> str:
    return f": {describe_left_out(left_out)}" if left_out else ""


def _build_buffer(buffer_class: Any, trajectory: Trajectory, operations: Catalogue) -> Any:
    steps = trajectory.steps
    rewards = [0.0] * (len(steps) - 1) + [trajectory.reward]
    budget = trajectory.manifest.step_budget
    budget_spent = budget is not None and len(steps) > budget
    last = [False] * (len(steps) - 1)
    return buffer_class(
        seed=trajectory.manifest.open.seed,
        options=trajectory.manifest.open.model_dump(include={"task", "split", "world", "faults"}),
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
    total = manifest.step_budget
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
