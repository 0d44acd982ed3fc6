"""Names are drawn for each instance, so that a file which solved another instance breaks this one."""

import re
from itertools import combinations

from fixtures.codebase.courier_bugs.format import courier_bugs
from fixtures.codebase.courier_bugs.instance import synonyms
from fixtures.codebase.courier_tree import SOURCE, courier_files
from fixtures.tasks.ide.typescript_bug import draw_instance
from fixtures.tasks.registry import family


def names_that_others_use(path: str) -> set[str]:
    others = {
        word
        for other, text in courier_files().items()
        if other != path and other.startswith(SOURCE)
        for word in re.findall(r"\w+", text)
    }
    return set(re.findall(r"\w+", courier_files()[path])) & others & synonyms().keys()


def test_every_bug_is_an_instance_of_its_own() -> None:
    found = family("ide/typescript-bug")
    drawn = [
        draw_instance(found.draw(seed, split)) for split in found.splits for seed in range(found.count_instances(split))
    ]

    assert len({instance.bug.id for instance in drawn}) == len(drawn) == len(courier_bugs())


def test_no_right_file_of_one_instance_fits_into_another() -> None:
    found = family("ide/typescript-bug")
    drawn = [
        draw_instance(found.draw(seed, split)) for split in found.splits for seed in range(found.count_instances(split))
    ]

    for one, other in combinations(drawn, 2):
        for path in set(one.bug.paths) & set(other.bug.paths):
            renamed = dict(one.names), dict(other.names)
            shared = names_that_others_use(path)
            assert any(renamed[0].get(name) != renamed[1].get(name) for name in shared), (one.bug.id, other.bug.id)


def test_no_other_name_is_in_use_already() -> None:
    words = {word for text in courier_files().values() for word in re.findall(r"\w+", text)}
    others = [other for names in synonyms().values() for other in names]

    assert words.isdisjoint(others)
    assert len(set(others)) == len(others)
    assert words.issuperset(synonyms())
