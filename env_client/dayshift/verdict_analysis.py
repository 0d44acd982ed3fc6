"""Verdict analysis: the class of each failure."""

from dayshift.trajectory import Trajectory
from dayshift.wire import Verdict

PASSED = "passed"


def classify_failure(trajectory: Trajectory) -> str:
    """Returns "passed" or the cause of a failure.

    The cause starts with who is to blame: `agent: …`, `harness: …` (the environment), or `policy: …` (a bug).
    """
    if trajectory.quarantine is not None:
        return f"{trajectory.quarantine.blame}: {trajectory.quarantine.kind}"
    verdict = trajectory.verdict
    if verdict is None or verdict.outcome == "unscored":
        return "harness: Unscored"
    return PASSED if verdict.outcome == PASSED else f"agent: {_classify_agent_failure(trajectory, verdict)}"


def _classify_agent_failure(trajectory: Trajectory, verdict: Verdict) -> str:
    # An episode in which every goal holds fails by harm alone, and not all harm is collateral or a broken constraint.
    is_all_reached = bool(verdict.findings) and all(finding.held for finding in verdict.findings if finding.weight > 0)
    if verdict.collateral or is_all_reached or any(not found.held for found in verdict.findings if found.weight < 0):
        return "harm done"
    calls = [step for step in trajectory.steps if step.sent and step.product]
    if not calls:
        return "did nothing"
    if trajectory.manifest.budget is not None and len(trajectory.steps) > trajectory.manifest.budget.steps:
        return "budget used up"
    if all(step.status >= 400 or step.status == 0 for step in calls):
        return "every call refused"
    if all(step.method == "GET" for step in calls):
        return "read, changed nothing"
    if any(finding.score > 0 for finding in verdict.findings if finding.weight > 0):
        return "partly done"
    return "wrong change"
