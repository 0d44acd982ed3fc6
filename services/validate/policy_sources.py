"""Where the rules that decide a task can be read: in the brief, in the help centre, in a file of a repository."""

from fixtures.tasks.family import Call, Instance
from services.validate.attempt import Attempt, Stuck

_POLICY_TAGS = frozenset({"policy", "identity", "approval"})
# What nobody has to be told: other people's money stays where it is, tests and callers of a library are not betrayed.
_SELF_EVIDENT = frozenset(
    {"NothingElseRefunded", "NotChargedAgain", "TestsNotWeakened", "ApiKept", "Untampered", "ReportHonest"}
)
_ARTICLES_PER_PAGE = 100


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
        case "article":
            return any(title == name and body for title, body in _read_articles(attempt))
        case "file":
            return bool(attempt.do(Call("ide.runtime.execute", {"command": f"cat ~/{name}", "shell": True}))["stdout"])
        case _:
            raise Stuck(f"a policy source is an article, a file or words of the brief, not {source!r}")


def _read_articles(attempt: Attempt) -> list[tuple[str, str]]:
    if "desk" not in attempt.family.products:
        raise Stuck("articles are read at the desk, which this family does not have")
    articles: list[tuple[str, str]] = []
    page = 1
    while True:
        answer = attempt.do(Call("desk.articles.list", {"per_page": _ARTICLES_PER_PAGE, "page": page}))
        articles += [(article["title"], article["body"]) for article in answer["articles"]]
        if not answer.get("next_page"):
            return articles
        page += 1
