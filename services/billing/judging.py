"""What the judge knows of billing."""

from services.kernel.judging import Judging

judging = Judging(
    # A schedule is always created as its subscription is, and then given its phases: that corrects nothing.
    staged_fields=frozenset({"body.status", "body.phases", "body.current_phase"})
)
