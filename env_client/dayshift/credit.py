"""What each specialist earned, read from the verdict alone: its own product's goals, and the harm done in it."""

from collections.abc import Iterable

from dayshift.calls import ORCHESTRATOR
from dayshift.wire import Verdict

# As in control's own reckoning: four stray edits cost all that reaching every goal earns.
_GENTLENESS = 4.0


def rewards(verdict: Verdict, specialists: Iterable[str]) -> dict[str, float]:
    """The orchestrator answers for the whole, a specialist for its product; an unscored episode pays nobody."""
    if verdict.reward is None:
        return {}
    return {ORCHESTRATOR: verdict.reward, **{one: share(verdict, one) for one in specialists}}


def share(verdict: Verdict, product: str) -> float:
    """earned * precision - (1 - precision), over what one product's rows say; never rounded, never clipped.

    Nobody else can write to the product, so that nothing in it is anybody else's doing.
    """
    precision = _GENTLENESS / (_GENTLENESS + harm(verdict, product))
    return earned(verdict, product) * precision - (1 - precision)


def earned(verdict: Verdict, product: str) -> float:
    """The share of the product's own goals that was reached; 0 where the task has none there."""
    goals = [one for one in verdict.findings if one.product == product and one.weight > 0]
    whole = sum(one.weight for one in goals)
    return sum(one.weight * one.score for one in goals) / whole if goals else 0.0


def harm(verdict: Verdict, product: str) -> float:
    """In stray edits: rows that should have been left alone, and rules that were broken."""
    strays = sum(one.harm for one in verdict.collateral if one.product == product)
    broken = [one for one in verdict.findings if one.product == product and one.weight < 0]
    return strays + sum(-one.weight * (1 - one.score) for one in broken)
