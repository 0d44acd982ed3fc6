"""Team rewards: what each agent of a team earns, computed from the verdict alone."""

from collections.abc import Iterable

from dayshift.calls import ORCHESTRATOR
from dayshift.wire import Verdict

# The same constant as in control's formula: four stray edits cost all that reaching every goal earns.
_HARM_SCALE = 4.0


def assign_rewards(verdict: Verdict, specialists: Iterable[str]) -> dict[str, float]:
    """Assigns the verdict's reward to the orchestrator and a product's reward to each specialist.

    An unscored episode has no rewards.
    """
    if verdict.reward is None:
        return {}
    return {ORCHESTRATOR: verdict.reward, **{product: product_reward(verdict, product) for product in specialists}}


def product_reward(verdict: Verdict, product: str) -> float:
    """Computes earned * precision - (1 - precision) over the findings of one product, without rounding or clipping.

    Only its specialist can write to the product, so every change in it is that specialist's.
    """
    precision = _HARM_SCALE / (_HARM_SCALE + product_harm(verdict, product))
    return goal_share(verdict, product) * precision - (1 - precision)


def goal_share(verdict: Verdict, product: str) -> float:
    """Computes the weighted share of the product's goals that the team reached; 0 where the task has none there."""
    goals = [finding for finding in verdict.findings if finding.product == product and finding.weight > 0]
    total = sum(finding.weight for finding in goals)
    return sum(finding.weight * finding.score for finding in goals) / total if goals else 0.0


def product_harm(verdict: Verdict, product: str) -> float:
    """Computes the harm in a product, in stray edits: rows that no goal allows to change, and broken rules."""
    collateral = sum(change.harm for change in verdict.collateral if change.product == product)
    rules = [finding for finding in verdict.findings if finding.product == product and finding.weight < 0]
    return collateral + sum(-rule.weight * (1 - rule.score) for rule in rules)
