"""Where the rules that decide a task can be read: in the brief, in the help centre, in a file of a repository."""

from fixtures.tasks.family import Instance
from services.validate.attempt import Attempt, Stuck
from services.validate.sample_calls import sample_calls_of

_POLICY_TAGS = frozenset({"policy", "identity", "approval"})
# What nobody has to be told: other people's money stays where it is, tests and callers of a library are not betrayed.
_SELF_EVIDENT = frozenset(
    {"NothingElseRefunded", "NotChargedAgain", "TestsNotWeakened", "ApiKept", "Untampered", "ReportHonest"}
)


def has_policy(instance: Instance) -> bool:
    """Says whether something in the task is gated, approved by somebody or forbidden by a rule."""
    is_gated = any(customer.gates for customer in instance.customers) or bool(instance.colleagues)
    return is_gated or any(
        constraint.tag in _POLICY_TAGS and constraint.question.check not in _SELF_EVIDENT
        for constraint in instance.constraints
    )


def is_readable(attempt: Attempt, source: str) -> bool:
    """Looks a declared source up as an agent would."""
    kind, _, name = source.partition(": ")
    match kind:
        case "brief":
            brief = attempt.episode.brief.casefold()
            return any(words.strip().casefold() in brief for words in name.split("|"))
        case _:
            return _is_in_a_product(attempt, kind, name)


def _is_in_a_product(attempt: Attempt, kind: str, name: str) -> bool:
    answers = [sample_calls_of(product).has_source(kind, name, attempt.do) for product in attempt.family.products]
    if all(answer is None for answer in answers):
        raise Stuck(f"no product of this family has a source of the kind {kind!r}, and it is no word of the brief")
    return any(answers)
