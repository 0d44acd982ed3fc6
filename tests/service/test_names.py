"""Names are drawn for each instance, so that a file which solved another instance breaks this one."""

import re
from collections import Counter
from itertools import combinations
from math import prod

from fixtures.codebase.service_bugs.format import HIDDEN_TEST
from fixtures.codebase.service_bugs.instance import BugInstance, synonyms, usable_bugs
from fixtures.codebase.service_bugs.instance import test_modules as modules_of_the_service
from fixtures.codebase.service_bugs.try_bugs import run_tests
from fixtures.codebase.service_tree import SOURCE, service_files
from fixtures.tasks.ide.service_bug import draw_instance
from fixtures.tasks.registry import family

# As many as four names with two others each.
_LEAST_VARIANTS = 81


def names_that_others_use(path: str) -> set[str]:
    others = {
        word
        for other, text in service_files().items()
        if other != path and other.startswith(SOURCE)
        for word in re.findall(r"\w+", text)
    }
    return set(re.findall(r"\w+", service_files()[path])) & others & synonyms().keys()


def count_variants(path: str) -> int:
    """In how many ways the names of a file that other modules use can be drawn."""
    return prod(1 + len(synonyms()[name]) for name in names_that_others_use(path))


def test_files_of_several_bugs_can_have_many_names_that_other_modules_use() -> None:
    counts = Counter(path for bug in usable_bugs() for path in bug.paths)

    several = {path for path, count in counts.items() if count > 1}
    assert {path for path in several if count_variants(path) < _LEAST_VARIANTS} == set()


def test_no_right_file_of_one_instance_fits_into_another() -> None:
    found = family("ide/service-bug")
    drawn = [
        draw_instance(found.draw(seed, split)) for split in found.splits for seed in range(found.count_instances(split))
    ]

    assert len({instance.bug.id for instance in drawn}) == len(drawn) == len(usable_bugs())
    for one, other in combinations(drawn, 2):
        for path in set(one.bug.paths) & set(other.bug.paths):
            renamed = dict(one.names), dict(other.names)
            shared = names_that_others_use(path)
            assert any(renamed[0].get(name) != renamed[1].get(name) for name in shared), (one.bug.id, other.bug.id)


def test_no_other_name_is_in_use_already() -> None:
    words = {word for text in service_files().values() for word in re.findall(r"\w+", text)}
    others = [other for names in synonyms().values() for other in names]

    assert words.isdisjoint(others)
    assert len(set(others)) == len(others)
    assert words.issuperset(synonyms())


def test_the_service_works_under_other_names() -> None:
    bug = usable_bugs()[0]
    instance = BugInstance(bug, tuple((own, others[-1]) for own, others in synonyms().items()))
    files = {**instance.rename_files(service_files()), HIDDEN_TEST: instance.rename(bug.test)}

    outcome = run_tests(files, [HIDDEN_TEST, *modules_of_the_service()])

    assert not outcome.failed
    assert len(outcome.passed) == instance.kept + len(instance.fail_to_pass)
