"""A trajectory in ATIF, the Agent Trajectory Interchange Format of Harbor: version 1.4, which later readers take."""

from collections.abc import Iterable
from typing import Any

from dayshift.chat_messages import ORCHESTRATOR_PROMPT
from dayshift.review.store import Review
from dayshift.trajectory import RecordedStep, Trajectory
from dayshift.version import VERSION

ATIF_VERSION = "ATIF-v1.4"


def to_atif(trajectory: Trajectory, reviews: Iterable[Review] = ()) -> dict[str, Any]:
    """Returns the document: the system prompt, the brief, a step for each reply or call, and the verdict as `extra`."""
    manifest, model, verdict = trajectory.manifest, trajectory.model, trajectory.verdict
    steps: list[dict[str, Any]] = []
    prompt = model.system_prompt if model else ORCHESTRATOR_PROMPT if trajectory.turns else ""
    if prompt:
        steps.append({"source": "system", "message": prompt})
    steps.append({"source": "user", "message": manifest.brief or "Free play."})
    steps += _model_steps(trajectory) if model else [_agent_step([step]) for step in trajectory.steps]
    for number, step in enumerate(steps, 1):
        step |= {"step_id": number, "timestamp": step.get("timestamp", manifest.clock)}
    agent: dict[str, Any] = {
        "name": trajectory.policy or "agent",
        "version": trajectory.policy_version or "unversioned",
    }
    if model:
        agent["model_name"] = model.model
    return {
        "schema_version": ATIF_VERSION,
        "session_id": manifest.episode_id,
        "agent": agent,
        "steps": steps,
        "final_metrics": _final_metrics(trajectory, len(steps)),
        "extra": {
            "dayshift_version": VERSION,
            "open": manifest.open.model_dump(),
            "fingerprint": manifest.fingerprint,
            "verdict": None if verdict is None else verdict.model_dump(),
            "quarantine": None if trajectory.quarantine is None else trajectory.quarantine.model_dump(),
            "reviews": [review.model_dump(exclude={"key"}) for review in reviews],
        },
    }


def _model_steps(trajectory: Trajectory) -> list[dict[str, Any]]:
    """One step for each reply of the model, with the calls that it asked for."""
    model = trajectory.model
    assert model is not None, "asked for where a model played"
    by_number = {step.number: step for step in trajectory.steps}
    steps = []
    for turn in model.turns:
        own = [by_number[number] for number in range(turn.first_step, turn.last_step + 1) if number in by_number]
        step = _agent_step(own, _text_of(model.messages, turn.messages_sent))
        step["model_name"] = model.model
        if turn.reasoning:
            step["reasoning_content"] = turn.reasoning
        exact = {
            "prompt_token_ids": turn.prompt_token_ids,
            "completion_token_ids": turn.token_ids,
            "logprobs": turn.logprobs,
        }
        metrics: dict[str, Any] = {
            "prompt_tokens": turn.input_tokens,
            "completion_tokens": turn.output_tokens,
            "cached_tokens": turn.cached_tokens,
            **{name: values for name, values in exact.items() if values is not None},
        }
        step["metrics"] = metrics
        steps.append(step)
    return steps


def _agent_step(calls: list[RecordedStep], message: str = "") -> dict[str, Any]:
    step: dict[str, Any] = {"source": "agent", "message": message}
    if not calls:
        return step
    step["timestamp"] = calls[0].clock
    step["tool_calls"] = [
        {"tool_call_id": f"call_{call.number}", "function_name": call.operation, "arguments": call.arguments}
        for call in calls
    ]
    step["observation"] = {
        "results": [{"source_call_id": f"call_{call.number}", "content": call.answer} for call in calls]
    }
    step["extra"] = {
        "calls": [
            {
                "tool_call_id": f"call_{call.number}",
                "method": call.method,
                "target": call.target,
                "status": call.status,
                "revision": call.revision,
                "fault": call.fault,
                "actor": call.actor,
            }
            for call in calls
        ]
    }
    return step


def _text_of(messages: list[dict[str, Any]], index: int) -> str:
    """The prose of a reply, whatever the provider's format; calls stand in `tool_calls`."""
    if index >= len(messages):
        return ""
    content = messages[index].get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def _final_metrics(trajectory: Trajectory, steps: int) -> dict[str, Any]:
    metrics: dict[str, Any] = {"total_steps": steps, "extra": {"cost": trajectory.cost.model_dump()}}
    if trajectory.reward is not None:
        metrics["extra"]["reward"] = trajectory.reward
    if (model := trajectory.model) is not None:
        metrics |= {"total_prompt_tokens": model.input_tokens, "total_completion_tokens": model.output_tokens}
        if model.cost is not None:
            metrics["total_cost_usd"] = model.cost
    return metrics
