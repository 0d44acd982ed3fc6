"""A library as an instance plants it: its own names everywhere, and no use for another instance's files."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.codebase.naming import synonyms
from fixtures.tasks.family import Call
from fixtures.tasks.ide.shared import records as ide_records
from fixtures.tasks.registry import family
from services.validate.attempt import Attempt, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack
from tests.ide.small_world import build_small_world

_SEEDS = range(19)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessStack]:
    var: Path = tmp_path_factory.mktemp("var")
    build_small_world(var)
    with InProcessStack(var, ("ide",), "small") as opened:
        yield opened


def output(made: Attempt, command: str) -> str:
    answer = made.do(ide_records.run(command))
    assert answer["exit_code"] == 0, answer
    text: str = answer["stdout"]
    return text


def test_the_right_file_of_another_instance_mends_nothing(stack: InProcessStack) -> None:
    """Two seeds with bugs in the same module: the whole right module of one is pasted at the other."""
    context, found = TrialContext(stack, "small", "train"), family("ide/fix-text")
    drawn = [stack.control.task_builder.draw(found, context.request(found, seed))[1].bug for seed in _SEEDS]
    pairs = [(one, seed) for seed, other in enumerate(drawn) for one in drawn[:seed] if one.path == other.path]
    assert pairs
    for other, seed in pairs[:3]:
        with attempt(context, found, seed) as made:
            made.do(ide_records.write_file(other.path, other.right))
            verdict = made.submit()

        assert verdict.outcome == "failed"
        assert (verdict.reward or 0) <= 0
        assert "ApiKept" in [finding.check for finding in verdict.findings if not finding.held]


def test_the_whole_history_has_the_names_of_the_instance_and_git_finds_it_sound(stack: InProcessStack) -> None:
    context, found = TrialContext(stack, "small", "train"), family("ide/triage-red-test")
    with attempt(context, found, 4) as made:
        bug = made.trouble.bug
        inside = f"cd {bug.package} && "
        checked = output(made, f"{inside}git fsck --strict 2>&1; git status --porcelain; git rev-parse HEAD")
        written = output(made, f"{inside}git log -p --all --format=%s -- src tests docs README.md")
        main = made.do(Call("ide.branches.get", {"owner": ide_records.OWNER, "repo": bug.package, "branch": "main"}))

    renamed = {own for own, _ in bug.naming.changed}
    unmistakable = {own for own in renamed if "_" in own}
    assert checked.split()[-1] == main["commit"]["sha"]
    assert len(checked.splitlines()) == 1, checked
    assert unmistakable
    assert not unmistakable & set(re.findall(r"\w+", written))
    assert set(synonyms()[bug.package]) >= renamed
