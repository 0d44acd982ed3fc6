"""Promises: what must hold of a family at one seed, each tried in episodes of its own."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

from dayshift.errors import DayshiftError
from dayshift.replay import verify
from dayshift.wire import Verdict

from fixtures.tasks.family import Family, Instance
from services.control.effort import EpisodeStep, count_work
from services.control.recorded_change import RecordedChange
from services.validate import policies
from services.validate.attempt import Attempt, Stuck, TrialContext, attempt, draw_instance
from services.validate.needed_values import collect_needed_values
from services.validate.policies import Policy
from services.validate.policy_sources import has_policy, is_readable
from services.validate.reading import Reader
from services.validate.sample_calls import sample_calls_of

_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class PromiseResult:
    """A promise, whether it was kept, and the reward that was measured where there is one."""

    promise: str
    held: bool
    because: str = ""
    reward: float | None = None
    # An exception that a reader of the report should know of, though the promise is kept.
    note: str = ""


@dataclass
class Trial:
    """One family at one seed."""

    context: TrialContext
    family: Family[Any]
    seed: int
    _parts: dict[int, Verdict] = field(default_factory=dict)

    def play(self, policy: Policy, faults: str = "none") -> tuple[Verdict, Attempt]:
        with attempt(self.context, self.family, self.seed, faults, self.instance_and_trouble) as made:
            return policy(made), made

    @cached_property
    def instance_and_trouble(self) -> tuple[Instance, Any]:
        return draw_instance(self.context, self.family, self.seed)

    @cached_property
    def solved(self) -> tuple[Verdict, Attempt]:
        """The oracle, once: several promises compare with it."""
        return self.play(policies.oracle)

    def play_regrouped(self, policy: Policy) -> Verdict:
        """The oracle with its groups of calls made otherwise; without any there is nothing to make otherwise."""
        verdict, made = self.solved
        return self.play(policy)[0] if made.grouped else verdict

    @cached_property
    def spent(self) -> int:
        """The oracle's steps as an agent's are counted: a batch of n writes counts as n."""
        _, made = self.solved
        return count_work(_steps(made), _history(made))

    @property
    def writes(self) -> int:
        made = self.solved[1]
        return sum(not made.reads(call) for call in made.calls)

    def part(self, writes: int) -> Verdict:
        if writes not in self._parts:
            self._parts[writes] = self.play(policies.part_of_oracle(writes))[0]
        return self._parts[writes]

    def reward(self, policy: Policy, faults: str = "none") -> float:
        verdict, _ = self.play(policy, faults)
        assert verdict.reward is not None, "the client refuses an unscored verdict"
        return verdict.reward


Promise = Callable[[Trial], Iterator[PromiseResult]]


def check_promises(trial: Trial) -> list[PromiseResult]:
    """Check every promise; one that cannot be checked counts as broken."""
    results: list[PromiseResult] = []
    for promise in PROMISES:
        try:
            results += promise(trial)
        except (Stuck, DayshiftError) as error:
            results.append(PromiseResult(promise.__name__, held=False, because=f"{type(error).__name__}: {error}"))
    return results


def oracle_earns_one(trial: Trial) -> Iterator[PromiseResult]:
    verdict, attempt = trial.solved
    yield _equals("oracle_earns_one", verdict, 1.0)
    par, budget = attempt.instance.par, attempt.instance.budget.steps
    due = trial.family.compute_par(attempt.trouble, trial.spent)
    because = f"{trial.spent} steps, par {par}, due {due}"
    yield PromiseResult("par_leaves_room", due <= par < due + policies.EXTRA_READS, because)
    most = max(verdict.steps, par)
    yield PromiseResult("budget_leaves_room", most + policies.EXTRA_READS <= budget, f"{most} steps of {budget}")


def nothing_earns_nothing(trial: Trial) -> Iterator[PromiseResult]:
    yield _equals("nothing_earns_nothing", trial.play(policies.nothing)[0], 0.0)
    yield _equals("setup_earns_nothing", trial.play(policies.setup_only)[0], 0.0)


def faults_do_not_cost(trial: Trial) -> Iterator[PromiseResult]:
    yield _equals("oracle_survives_rough_faults", trial.play(policies.oracle, "rough")[0], 1.0)


def order_does_not_matter(trial: Trial) -> Iterator[PromiseResult]:
    yield _equals("oracle_in_another_order", trial.play_regrouped(policies.oracle_backwards), 1.0)


def other_ways_earn_one(trial: Trial) -> Iterator[PromiseResult]:
    yield _equals("oracle_in_bulk", trial.play_regrouped(policies.in_bulk), 1.0)
    for name in trial.family.alternatives(trial.solved[1].trouble):
        yield _equals(f"alternative: {name}", trial.play(policies.alternative(name))[0], 1.0)


def mistakes_do_not_pass(trial: Trial) -> Iterator[PromiseResult]:
    for name in trial.family.mistakes(trial.instance_and_trouble[1]):
        verdict = trial.play(policies.mistake(name))[0]
        most = _most_for_a_part(trial.family, name, verdict)
        held = verdict.outcome == "failed" and verdict.reward is not None and verdict.reward <= most
        because = f"{verdict.outcome}, reward {verdict.reward}, at most {most:g} is due"
        yield PromiseResult(f"mistake: {name}", held, because, verdict.reward)


def _most_for_a_part(family: Family[Any], mistake: str, verdict: Verdict) -> float:
    """What a mistake may earn: the goals that it reaches in full.

    A part of one goal is worth nothing, unless the family says what was done honestly. Code is judged as a whole.
    """
    goals = [finding for finding in verdict.findings if finding.weight > 0]
    if mistake in family.part_credit:
        return sum(goal.weight * goal.score for goal in goals) + _TOLERANCE
    whole = sum(goal.weight for goal in goals if goal.score == 1)
    is_code = all(sample_calls_of(product).is_judged_whole for product in family.products)
    return 0.0 if is_code else whole + _TOLERANCE


def values_can_be_found(trial: Trial) -> Iterator[PromiseResult]:
    """Read from the brief on, and ask the customers: everything that a goal needs stands somewhere, or follows."""
    instance, _ = trial.instance_and_trouble
    rules = trial.family.derivations
    needed = collect_needed_values(instance)
    computed = [{value.field: list(value.any_of)} for value in needed if value.place in rules]
    made = trial.solved[1]
    with attempt(trial.context, trial.family, trial.seed, known_instance=trial.instance_and_trouble) as reading:
        reader = Reader(reading, [call for call in made.calls if made.reads(call)])
        reader.known.read_value(computed)
        missing = reader.read_until_known(needed)
    because = f"nowhere to be read: {', '.join(map(str, missing))}"
    note = "; ".join(f"{place} is computed: {rule}" for place, rule in rules.items())
    yield PromiseResult("values_can_be_found", not missing, because if missing else "", note=note)


def policy_is_readable(trial: Trial) -> Iterator[PromiseResult]:
    """The family names where its rules stand, and an agent finds them there."""
    instance, _ = trial.instance_and_trouble
    sources = trial.family.policy_sources
    if not sources:
        yield PromiseResult("policy_is_readable", not has_policy(instance), "no policy_sources are declared")
        return
    with attempt(trial.context, trial.family, trial.seed, known_instance=trial.instance_and_trouble) as reading:
        missing = [source for source in sources if not is_readable(reading, source)]
    yield PromiseResult("policy_is_readable", not missing, f"not to be read: {', '.join(missing)}" if missing else "")


def extra_reads_cost_almost_nothing(trial: Trial) -> Iterator[PromiseResult]:
    """They cost reward and not the outcome: the work is done."""
    yield _costs_little("extra_reads_cost_almost_nothing", trial.play(policies.extra_reads(trial.spent))[0], 0.98)


def part_earns_its_share(trial: Trial) -> Iterator[PromiseResult]:
    """With every write of the oracle the reward grows or stays, and it is what the findings add up to."""
    total = trial.writes
    rewards = []
    for count in _counts(total):
        verdict = trial.part(count)
        share = sum(finding.weight * finding.score for finding in verdict.findings if finding.weight > 0)
        rewards.append(verdict.reward or 0.0)
        right = not verdict.collateral and abs(rewards[-1] - share) < _TOLERANCE and rewards[-1] < 1
        right = right and verdict.outcome == "failed" and bool(verdict.because)
        because = f"{count} of {total} writes: {verdict.outcome} {rewards[-1]}, findings say {share}"
        yield PromiseResult("part_earns_its_share", right, because, rewards[-1])
    grows = all(reward <= following for reward, following in pairwise(rewards))
    yield PromiseResult("part_is_monotone", grows and all(reward >= 0 for reward in rewards), f"{rewards}")


def better_is_paid_more(trial: Trial) -> Iterator[PromiseResult]:
    """A ladder of hand-made trajectories, no two of them equal."""
    repaired, harmful = (trial.play(policy)[0] for policy in (policies.slip_repaired, policies.solve_with_collateral))
    with_slip, with_collateral = repaired.reward or 0.0, harmful.reward or 0.0
    one_harm, more_harm = trial.reward(policies.harm(1)), trial.reward(policies.harm(3))
    yield _costs_little("slip_repaired_costs_little", repaired, 0.95)
    is_found_out = harmful.outcome == "failed" and bool(harmful.because)
    yield PromiseResult(
        "harm_is_no_pass", is_found_out, f"{harmful.outcome}, reward {with_collateral}", with_collateral
    )
    rungs = [1.0, with_slip, *_middle_rungs(trial, with_collateral), 0.0, one_harm, more_harm]
    ordered = all(higher > lower for higher, lower in pairwise(rungs))
    is_strict = ordered and more_harm > -1 and with_collateral < with_slip
    yield PromiseResult("ladder_is_strict", is_strict, f"{rungs}, with collateral {with_collateral}")


def same_again(trial: Trial) -> Iterator[PromiseResult]:
    """Played again call by call: every answer is the same to the byte, and so is the verdict."""
    _, made = trial.solved
    difference = verify(made.episode.trajectory(), trial.context.stack).difference
    judged = difference is None or difference.what != "the verdict"
    yield PromiseResult("rerun_gives_the_same_verdict", judged, str(difference))
    yield PromiseResult("replay_gives_the_same_bytes", difference is None, str(difference))


PROMISES: tuple[Promise, ...] = (
    oracle_earns_one,
    nothing_earns_nothing,
    faults_do_not_cost,
    order_does_not_matter,
    other_ways_earn_one,
    mistakes_do_not_pass,
    values_can_be_found,
    policy_is_readable,
    extra_reads_cost_almost_nothing,
    part_earns_its_share,
    better_is_paid_more,
    same_again,
)


def chance_reward(trial: Trial) -> float:
    """One draw; the promise is about the mean of many."""
    return trial.reward(policies.chance)


def task_of(trial: Trial) -> str:
    """The same if and only if the same is asked for."""
    instance, _ = trial.instance_and_trouble
    return hashlib.sha256(repr((instance.brief, instance.goals)).encode()).hexdigest()[:16]


def _equals(promise: str, verdict: Verdict, expected: float) -> PromiseResult:
    lost = [finding.because for finding in verdict.findings if not finding.held]
    touched = [f"{change.table} {change.id} {change.fields}" for change in verdict.collateral]
    because = f"{verdict.outcome} {verdict.reward}; {lost} {touched} {[flag.tag for flag in verdict.flags]}"
    is_right = verdict.reward == expected and (verdict.outcome == "passed") == (expected == 1)
    return PromiseResult(promise, is_right and not verdict.flags, because, verdict.reward)


def _costs_little(promise: str, verdict: Verdict, least: float) -> PromiseResult:
    """A detour on the way to all goals: less than 1, and passed."""
    reward = verdict.reward or 0.0
    is_right = verdict.outcome == "passed" and least <= reward < 1
    return PromiseResult(promise, is_right, f"{verdict.outcome} {reward}, {verdict.because}", reward)


def _counts(total: int) -> list[int]:
    """All there are, or those at the quarters: every part is an episode with days of waiting in it."""
    return list(range(1, total)) if total <= 4 else sorted({total * quarter // 4 for quarter in (1, 2, 3)})


def _middle_rungs(trial: Trial, with_collateral: float) -> list[float]:
    """Part of the work, where there are parts; else the work with something broken beside it."""
    counts = _counts(trial.writes)
    parts = {trial.part(count).reward or 0.0 for count in counts[len(counts) // 2 :]}
    partial = sorted((reward for reward in parts if 0 < reward < 1), reverse=True)[:2]
    return partial or [with_collateral]


def _steps(attempt: Attempt) -> list[EpisodeStep]:
    connection, episode_id = attempt.context.stack, attempt.episode.id
    steps = connection.run(connection.address.control.trajectory(episode_id)).steps
    return [cast("EpisodeStep", step.model_dump()) for step in steps]


def _history(attempt: Attempt) -> Mapping[str, Sequence[RecordedChange]]:
    """The writes as the ledger keeps them: they are counted, and no image is parsed."""
    kept = attempt.context.stack.read_diff(attempt.episode.id)
    return {product: [RecordedChange(record) for record in records] for product, records in kept.items()}
