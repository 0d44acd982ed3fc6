"""Reading a verdict: what was earned, what was broken, and whose failure it was."""

from dayshift.trajectory import Trajectory
from dayshift.wire import Verdict

PASSED = "passed"


def components(verdict: Verdict) -> dict[str, tuple[float, float]]:
    """For every check its score and its weight; a check asked twice is numbered."""
    found: dict[str, tuple[float, float]] = {}
    for finding in verdict.findings:
        name, number = finding.check, 2
        while name in found:
            name, number = f"{finding.check} ({number})", number + 1
        found[name] = (finding.score, finding.weight)
    return found


def failure_class(trajectory: Trajectory) -> str:
    """One word for how it ended: `agent: …` for the agent's doing, `harness: …` for ours, `policy: …` for a bug."""
    if trajectory.quarantine is not None:
        return f"{trajectory.quarantine.blame}: {trajectory.quarantine.kind}"
    verdict = trajectory.verdict
    if verdict is None or verdict.outcome == "unscored":
        return "harness: Unscored"
    return PASSED if verdict.outcome == PASSED else f"agent: {_agent_failure(trajectory, verdict)}"


def _agent_failure(trajectory: Trajectory, verdict: Verdict) -> str:
    if verdict.collateral or any(not one.held for one in verdict.findings if one.weight < 0):
        return "harm done"
    made = [step for step in trajectory.steps if step.sent and step.product]
    if not made:
        return "did nothing"
    if trajectory.manifest.budget is not None and len(trajectory.steps) > trajectory.manifest.budget.steps:
        return "budget used up"
    if all(step.status >= 400 or step.status == 0 for step in made):
        return "every call refused"
    if all(step.method == "GET" for step in made):
        return "read, changed nothing"
    return "partly done" if any(one.score > 0 for one in verdict.findings if one.weight > 0) else "wrong change"
