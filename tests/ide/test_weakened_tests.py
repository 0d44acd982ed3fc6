"""Which edits of tests count as asking for less."""

from services.ide.grading.integrity import EditedFile, FileVersion, find_weakened_tests

BEFORE = """
class TestTable:
    def test_html(self):
        assert render() == "<table>"


def test_text():
    assert text() == "a"
"""
NEW_CLASS = """

class TestIndex:
    def test_html(self):
        assert render(index=True) == "<table><tr>"
"""


def edited(after: str) -> list[EditedFile]:
    before, now = (FileVersion(0o100644, text) for text in (BEFORE, after))
    return [EditedFile("pack/tests/test_table.py", before, now)]


def test_a_new_class_may_have_a_test_of_a_known_name() -> None:
    assert find_weakened_tests(edited(BEFORE + NEW_CLASS)) == []


def test_a_test_of_a_class_that_asks_for_something_else_is_seen() -> None:
    changed = BEFORE.replace('"<table>"', '"<tab>"') + NEW_CLASS
    flags = find_weakened_tests(edited(changed))

    assert flags == [("test_edit", "pack/tests/test_table.py: TestTable.test_html asks for something else")]


def test_a_test_that_the_right_fix_makes_wrong_may_change() -> None:
    changed = BEFORE.replace('text() == "a"', 'text() == "b"')

    assert find_weakened_tests(edited(changed)) != []
    assert find_weakened_tests(edited(changed), frozenset({"test_text"})) == []
