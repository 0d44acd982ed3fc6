"""The names of a library in one instance: another text and the same behaviour."""

import builtins
import io
import json
import keyword
import re
import tokenize
from collections.abc import Mapping

import pytest

from fixtures.codebase import bug_search
from fixtures.codebase.bugs import bugs
from fixtures.codebase.naming import Naming, draw_naming, synonyms
from fixtures.codebase.packages import Package, packages, stories
from fixtures.tasks.ide.shared.bugs import imports_of
from services.ide.grading.programs.draw_cases import draw_cases
from services.ide.grading.python_source import public_names
from services.kernel.chance import Chance

NAMES = sorted(packages())
_CASES = 80
_MANY = 100


def all_changed(package: str, place: int) -> Naming:
    return Naming(package, tuple((own, others[place]) for own, others in synonyms()[package].items()))


def identifiers(package: Package) -> set[str]:
    return {
        token.string
        for path, text in package.files.items()
        if path.endswith(".py")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME
    }


def answers(package: Package) -> str:
    cases = draw_cases(package.generator("everything"), 7, _CASES)
    with bug_search._write_files(package.files) as root:
        return json.dumps(bug_search._run_in_child(lambda: bug_search._answers(root, cases)))


def failing_tests(package: Package) -> list[str]:
    with bug_search._write_files(package.files) as root:
        failed: list[str] = bug_search._run_in_child(lambda: bug_search._failing(root))
    return failed


@pytest.mark.parametrize("name", NAMES)
def test_other_names_are_new_to_the_package_and_differ(name: str) -> None:
    others = [other for names in synonyms()[name].values() for other in names]
    taken = identifiers(packages()[name]) | set(dir(builtins)) | set(keyword.kwlist)

    assert set(synonyms()[name]) <= identifiers(packages()[name])
    assert len(others) == len(set(others))
    assert not taken & set(others)


@pytest.mark.parametrize("name", NAMES)
def test_a_package_answers_and_passes_its_tests_under_other_names(name: str) -> None:
    naming = all_changed(name, NAMES.index(name) % 3)
    expected = answers(packages()[name])
    for own, other in naming.changed:
        # The answers name the classes of objects and exceptions.
        expected = expected.replace(f'"{own}"', f'"{other}"') if own[0].isupper() else expected

    assert answers(naming.home) == expected
    assert failing_tests(naming.home) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_module_has_the_same_public_names_in_two_instances(name: str) -> None:
    """A file of another instance lacks names that this one's callers use."""
    homes = [draw_naming(name, Chance(number, "names")).home for number in range(_MANY)]
    for module in packages()[name].modules:
        drawn = [frozenset(public_names(home.module(module))) for home in homes]
        alike = sum(drawn.count(names) - 1 for names in drawn) / (_MANY * (_MANY - 1))

        assert alike < 0.12, (module, alike)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_can_be_read_uses_the_names_of_another_instance(name: str) -> None:
    naming = all_changed(name, 1)
    told = json.dumps(stories()[name]) + "".join(
        text for path, text in naming.home.files.items() if not path.endswith(".py")
    )
    code = " ".join(re.findall(r"`[^`]*`", told))

    assert not identifiers(naming.home) & set(synonyms()[name])
    assert not set(re.findall(r"\w+", code)) & set(synonyms()[name])


def test_a_bug_is_the_same_one_under_other_names() -> None:
    for bug in bugs()[::7]:
        own, other = bug, bug.under(all_changed(bug.package, 2))

        assert other.identity == own.identity
        assert _changed_lines(other.right, other.wrong).keys() == _changed_lines(own.right, own.wrong).keys()
        assert other.inside in {*public_names(other.right), other.inside if other.inside == own.inside else ""}
        assert not set(re.findall(r"\w+", imports_of(other))) & set(synonyms()[bug.package])


def _changed_lines(right: str, wrong: str) -> Mapping[int, str]:
    if right.count("\n") != wrong.count("\n"):
        return {right.count("\n") - wrong.count("\n"): ""}
    pairs = zip(right.splitlines(), wrong.splitlines(), strict=True)
    return {number: line for number, (before, line) in enumerate(pairs) if before != line}
