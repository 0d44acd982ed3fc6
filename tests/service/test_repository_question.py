"""Questions about the service's history: what is expected is what git says about the planted repository."""

import pytest

from fixtures.codebase.history import Author
from fixtures.codebase.service_bugs.instance import BugInstance, usable_bugs
from fixtures.codebase.service_history.plan import planned_commits
from fixtures.codebase.service_history.questions import definitions, find_origin
from fixtures.codebase.service_tree import service_files
from fixtures.tasks.registry import family
from services.validate.attempt import TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

_FAMILY = "ide/repository-question"
_AUTHORS = [Author(f"Engineer {number}", f"engineer{number}@tallyport.io") for number in range(12)]


def test_there_are_definitions_enough_and_each_is_in_its_module() -> None:
    assert len(definitions()) >= 50
    for definition in definitions():
        assert definition.name.rpartition(".")[2] in service_files()[definition.path]


def test_answers_differ_from_question_to_question() -> None:
    history = BugInstance(usable_bugs()[0]).history(_AUTHORS)
    origins = [find_origin(history, definition.commit) for definition in definitions()]

    tags = {f"v{planned.tag}" for planned in planned_commits() if planned.tag}
    assert {origin.release for origin in origins} <= tags
    assert len({origin.release for origin in origins}) >= 10
    assert len({origin.author for origin in origins}) >= 6
    assert all(origin.commits >= origin.authors >= 1 for origin in origins)


@pytest.mark.parametrize("seed", range(0, 36, 3))
def test_git_gives_the_answer(stack: InProcessStack, seed: int) -> None:
    """The oracle asks git alone."""
    found = family(_FAMILY)
    with attempt(TrialContext(stack, "small", "train"), found, seed) as made:
        verdict = made.episode.submit(made.follow(made.oracle))

    assert (verdict.outcome, verdict.reward) == ("passed", 1.0), verdict
