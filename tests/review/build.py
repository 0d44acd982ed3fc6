"""Builders of the tests: trajectories and summaries with sensible defaults."""

from typing import Any

from dayshift.trajectory import Cost, Manifest, RecordedStep, Trajectory
from dayshift.viewer.model import EpisodeSummary
from dayshift.wire import Finding, Flag, OpenRequest, Verdict

CLOCK = "2026-09-21T14:13:20.000Z"


def step(number: int, operation: str = "crm.contacts.get", answer: str = "{}", **values: Any) -> RecordedStep:
    defaults = {
        "arguments": {"id": "7"},
        "product": "crm",
        "method": "GET",
        "target": "/crm/v3/objects/contacts/7",
        "request": "",
        "status": 200,
        "revision": number,
        "clock": f"2026-09-21T14:13:{20 + number:02d}.000Z",
        "key": f"key-{number}",
        "milliseconds": 2.5,
        "fault": None,
    }
    return RecordedStep(number=number, operation=operation, answer=answer, **{**defaults, **values})


def trajectory(
    episode_id: str = "a" * 24,
    *,
    task: str = "crm/correct-contact",
    outcome: str = "passed",
    flags: tuple[str, ...] = (),
    steps: tuple[RecordedStep, ...] = (),
    brief: str = "Correct the phone number.",
    **values: Any,
) -> Trajectory:
    reward = {"passed": 1.0, "failed": 0.25, "unscored": None}[outcome]
    verdict = Verdict(
        outcome=outcome,
        reward=reward,
        because=None if outcome == "passed" else "the goal was not reached",
        findings=[
            Finding(check="Has", product="crm", weight=1, score=1, held=outcome == "passed", because="contact 7 has it")
        ],
        flags=[Flag(tag=tag, evidence="a row") for tag in flags],
        steps=len(steps),
        clock=CLOCK,
    )
    return Trajectory(
        manifest=Manifest(
            episode_id=episode_id,
            open=OpenRequest(task=task, seed=7),
            brief=brief,
            budget=None,
            products=["crm"],
            fingerprint="f" * 64,
            clock=CLOCK,
            action_space="a",
            versions={},
        ),
        steps=list(steps),
        verdict=verdict,
        quarantine=None,
        cost=Cost(
            calls=len(steps), request_bytes=0, answer_bytes=0, tokens_estimated=10, wall_seconds=1, virtual_seconds=9
        ),
        **values,
    )


def row(key: str, **values: Any) -> EpisodeSummary:
    outcome = values.get("outcome", "passed")
    defaults: dict[str, Any] = {
        "key": key,
        "run": "run",
        "episode_id": key,
        "family": "desk/refund",
        "products": ["desk"],
        "split": "train",
        "seed": 0,
        "world": "standard",
        "faults": "none",
        "struck": [],
        "policy": "agent",
        "version": "step-1",
        "outcome": "passed",
        "reward": {"passed": 1.0, "failed": 0.0, "unscored": None}[outcome],
        "because": "",
        "blame": "",
        "flags": [],
        "steps": 10,
        "calls": 10,
        "refusals": 0,
        "errors": 0,
        "retries": 0,
        "malformed": 0,
        "changed_rows": 1,
        "tokens": 1000,
        "cost": None,
        "wall_seconds": 1.0,
        "virtual_seconds": 60.0,
        "group": "g",
        "attempt": 1,
        "brief": "",
        "clock": CLOCK,
        "earned": None,
        "harm": None,
        "efficiency": None,
        "goals_held": 1,
        "goals": 1,
        "rating": None,
        "operations": {"desk.tickets.get": 2},
        "first_error": "",
        "labels": [],
    }
    return {**defaults, **values}  # type: ignore[typeddict-item]
