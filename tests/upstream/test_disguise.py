"""A disguised package does the same under other names, and its users notice nothing."""

import ast
from typing import Any

from fixtures.upstream.disguise import disguise

SOURCE = b'''
"""A small library."""
import functools
# A comment that stands in public.

_LIMIT = 10
_table = {}


def _clip(value, upper):
    """Private, with a docstring."""
    total = value
    if total > upper:
        total = upper
    else:
        total += 0
    return total + 0


class Counter:
    """Counts words.

    A second paragraph that is found in public.
    """

    def __init__(self, start=0):
        self._count = start
        self._by_name = {}

    def add(self, *words, weight=1):
        """Add words."""
        for word in words:
            self._by_name[word] = self._by_name.get(word, 0) + weight
            self._count += weight
        found = [letter for word in words for letter in word if (last := letter)]
        return len(found) + (1 if self._count else 0)

    def total(self):
        return _clip(self._count, _LIMIT)

    def handler(self, kind):
        return getattr(self, "_handle_" + kind)()

    def _handle_text(self):
        return "text"

    def option(self, name="start"):
        self._start = 4
        return getattr(self, "_" + name)


def make_adder(step):
    total = 0

    def adder(amount):
        nonlocal total
        total = total + step * amount
        return total

    return adder


def describe(value, *, fmt="{name}={value}"):
    name = "value"
    try:
        number = int(value)
    except ValueError as problem:
        return str(problem)[:7]
    return fmt.format(**locals())


sort_words = functools.partial(sorted, key=lambda word: (len(word), word))


def classify(item):
    match item:
        case [first, *rest]:
            return [first, len(rest)]
        case {"kind": kind, **others}:
            return [kind, sorted(others)]
        case _ as anything:
            return anything
'''
TESTS = b"from lib import _table\n\n\ndef test_table():\n    assert _table == {}\n"
TREE = {"lib.py": SOURCE, "tests/test_lib.py": TESTS, "README.md": b"_clip is private", "setup.py": b"name = 'lib'\n"}


def load(text: bytes) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "lib"}
    exec(compile(text, "lib.py", "exec"), namespace)
    return namespace


def behaviour(text: bytes) -> list[Any]:
    lib = load(text)
    counter = lib["Counter"](start=3)
    adder = lib["make_adder"](2)
    return [
        counter.add("a", "bb", weight=2),
        counter.total(),
        counter.handler("text"),
        counter.option(),
        [adder(1), adder(amount=5)],
        [lib["describe"](7), lib["describe"]("x"), lib["describe"](8, fmt="{number}")],
        lib["sort_words"](["ccc", "b", "a"]),
        [lib["classify"](item) for item in ([1, 2, 3], {"kind": "k", "z": 1}, 5)],
        lib["_table"],
    ]


def test_a_disguised_module_behaves_as_before_for_every_seed() -> None:
    for seed in range(10):
        disguised = disguise(TREE, seed)["lib.py"]

        assert behaviour(disguised) == behaviour(SOURCE)


def test_local_and_private_names_comments_and_long_docstrings_are_gone() -> None:
    text = disguise(TREE, 3)["lib.py"].decode()
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}

    assert not names & {"_clip", "_LIMIT", "found", "letter", "total"}
    assert "_by_name" not in text
    assert "public" not in text
    assert "Counts words." in text


def test_names_that_others_can_see_stay() -> None:
    text = disguise(TREE, 3, reserved={"_count"})["lib.py"].decode()

    # Public names, a private name that the tests import, one that is put together from text, and a reserved one.
    for name in ("Counter", "describe", "fmt", "weight", "_table", "_handle_text", "_start", "_count"):
        assert name in text


def test_everything_but_sources_stays_as_it_is() -> None:
    disguised = disguise({**TREE, "template.py": b"def {{ name }}(): pass\n"}, 1)

    assert {path for path in disguised if disguised[path] != TREE.get(path)} == {"lib.py", "template.py"}
    assert disguised["template.py"] == b"def {{ name }}(): pass\n"


def test_the_seed_alone_decides_and_seeds_differ() -> None:
    assert disguise(TREE, 5) == disguise(TREE, 5)
    assert len({disguise(TREE, seed)["lib.py"] for seed in range(8)}) == 8


def test_the_disguise_of_a_fix_changes_the_same_place_only() -> None:
    fixed = SOURCE.replace(b"total += 0", b"total += 1")
    before = disguise(TREE, 2)["lib.py"].decode().splitlines()
    after = disguise({**TREE, "lib.py": fixed}, 2)["lib.py"].decode().splitlines()

    assert len(before) == len(after)
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1
