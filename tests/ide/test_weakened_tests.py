"""Which edits of tests count as asking for less."""

from services.ide.grading.edited_files import EditedFile, FileVersion
from services.ide.grading.weakened_tests import find_weakened_tests

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


def at(path: str, before: str | None, after: str | None) -> EditedFile:
    versions = [None if text is None else FileVersion(0o100644, text) for text in (before, after)]
    return EditedFile(path, *versions)


def test_tests_may_move_to_another_file_and_get_other_names() -> None:
    moved = [at("pack/tests/test_table.py", BEFORE, None), at("pack/tests/unit/test_tables.py", None, BEFORE)]
    renamed = BEFORE.replace("def test_text", "def test_that_a_text_stays")

    assert find_weakened_tests(moved) == []
    assert find_weakened_tests(edited(renamed)) == []


def test_a_test_that_is_gone_or_lost_its_assertion_on_the_way_is_seen() -> None:
    gone = [
        at("pack/tests/test_table.py", BEFORE, None),
        at("pack/tests/test_new.py", None, "def test_a():\n    pass\n"),
    ]
    renamed = BEFORE.replace("def test_text", "def test_that_a_text_stays").replace('text() == "a"', "text()")

    assert [tag for tag, _ in find_weakened_tests(gone)] == ["test_edit", "test_edit"]
    assert find_weakened_tests(edited(renamed)) == [("test_edit", "pack/tests/test_table.py: test_text is gone")]


def test_a_new_test_may_be_skipped_and_a_known_one_may_not() -> None:
    new = BEFORE + '\n\n@pytest.mark.skipif(sys.platform == "win32", reason="")\ndef test_paths():\n    assert 1\n'
    known = BEFORE.replace("def test_text", '@pytest.mark.skip("later")\ndef test_text')
    whole = f'{BEFORE}\npytestmark = pytest.mark.skip("later")\n'
    of_class = BEFORE.replace("class TestTable", '@unittest.skip("later")\nclass TestTable')

    assert find_weakened_tests(edited(new)) == []
    assert find_weakened_tests(edited(known)) == [("skip", "pack/tests/test_table.py: test_text is not run any more")]
    assert [tag for tag, _ in find_weakened_tests(edited(whole))] == ["skip", "skip"]
    assert find_weakened_tests(edited(of_class)) == [
        ("skip", "pack/tests/test_table.py: TestTable.test_html is not run any more")
    ]


def test_data_of_tests_that_is_gone_is_seen() -> None:
    gone = at("pack/tests/data/a.json", "{}", None)

    assert find_weakened_tests([gone]) == [("test_edit", "pack/tests/data/a.json was deleted")]
    assert find_weakened_tests([gone, at("pack/tests/b.json", None, "{}")]) == []
