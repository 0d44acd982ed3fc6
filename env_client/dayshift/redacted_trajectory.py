"""Redacts a whole trajectory: what the agent said and called, what products answered, and the rows that changed."""

from typing import Any

from dayshift.redaction import Redactor
from dayshift.trajectory import Trajectory

# Bytes that are not text may hold anything.
_BINARY = "base64:"
# Ours: names of operations, digests and times, in which nothing personal stands.
_KEPT = frozenset(
    {"schema_version", "episode_id", "fingerprint", "clock", "action_space", "salt", "versions", "open", "products"}
)


def redact_trajectory(trajectory: Trajectory, redactor: Redactor | None = None) -> Trajectory:
    """Returns a copy that can leave the team. It no longer replays byte for byte: the calls are not those made."""
    redactor = redactor or Redactor()
    document = trajectory.model_dump()
    # First all names, so that a brief that comes before the answer that holds a name is redacted too.
    redactor.learn(document)
    manifest = {name: value if name in _KEPT else redactor.value(value) for name, value in document["manifest"].items()}
    return Trajectory.model_validate(
        {
            **{name: redactor.value(value) for name, value in document.items() if name not in ("manifest", "steps")},
            "manifest": manifest,
            "steps": [_redact_step(step, redactor) for step in document["steps"]],
        }
    )


def _redact_step(step: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    return step | {
        "arguments": redactor.value(step["arguments"]),
        "target": redactor.target(step["target"]),
        "request": _redact_body(step["request"], redactor),
        "answer": _redact_body(step["answer"], redactor),
    }


def _redact_body(body: str, redactor: Redactor) -> str:
    if body.startswith(_BINARY):
        return f"[binary, {len(body) * 3 // 4} bytes]"
    if "=" in body and body[:1] not in ("{", "[", "<") and " " not in body[:2000] and "\n" not in body:
        return redactor.form(body)
    return redactor.text(body)
