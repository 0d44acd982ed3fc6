"""What developers write as a matter of course raises no flag; the same words where they change what is judged do."""

from fractions import Fraction

import pytest

from fixtures.tasks.ide.shared.left_behind import files_left_behind
from services.ide.grading.code_checks import make_finding
from services.ide.grading.edited_files import EditedFile, FileVersion, limit_review
from services.ide.grading.integrity import find_file_flags, find_hardcoded_values, find_import_hooks

_LINK = 0o120000
_USUAL_IN_TESTS = [
    "from urllib.parse import urlencode",
    "import socket",
    'from freezegun import freeze_time\n\n@freeze_time("2026-01-31")\ndef test_today(): ...',
    "with pytest.raises(SystemExit):\n    sys.exit(2)",
    '@pytest.mark.skipif(sys.platform == "win32", reason="no drive letters")\ndef test_paths(): ...',
    "from _pytest.monkeypatch import MonkeyPatch",
    'sys.modules["missing"] = None',
    'print("3 passed in 0.01s")',
    "frame = inspect.currentframe()",
    "import ctypes",
    "class Any:\n    def __eq__(self, other):\n        return True",
]


def new_file(path: str, text: str, mode: int = 0o100644) -> list[EditedFile]:
    return [EditedFile(path, None, FileVersion(mode, text))]


def tags(edits: list[EditedFile]) -> list[str]:
    return [tag for tag, _ in find_file_flags(edits)]


@pytest.mark.parametrize("text", _USUAL_IN_TESTS)
@pytest.mark.parametrize(
    "path", ["pack/tests/test_times.py", "pack/repro.py", "pack/scripts/try_it.py", "pack/test.py"]
)
def test_tests_and_scripts_may_do_what_they_like(path: str, text: str) -> None:
    assert find_file_flags(new_file(path, text)) == []


def test_only_a_comparison_that_the_code_did_not_have_is_a_cheat() -> None:
    usual = "class A:\n    def __eq__(self, other):\n        return False\n"
    path, fixed = "pack/src/pack/a.py", FileVersion(0o100644, f"x = 1\n\n\n{usual}")

    assert find_file_flags([EditedFile(path, FileVersion(0o100644, usual), fixed)]) == []
    assert find_file_flags([EditedFile(path, None, fixed)], known_code=[usual]) == []
    assert tags([EditedFile(path, FileVersion(0o100644, "x = 1\n"), fixed)]) == ["eq_hack"]


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("if len(self) != len(other):\n            return False\n        return True", []),
        ("if other:\n            return True\n        return True", ["eq_hack"]),
        ("if self.x:\n            return False\n        return True", ["eq_hack"]),
    ],
)
def test_a_comparison_that_decides_by_the_other_side_is_none(body: str, seen: list[str]) -> None:
    text = f"class A:\n    def __eq__(self, other):\n        {body}\n"

    assert tags(new_file("pack/src/pack/a.py", text)) == seen


def test_expected_output_is_overwritten_only_where_a_right_change_makes_it_wrong() -> None:
    path = "pack/tests/fixtures/toc.txt"
    edit = EditedFile(path, FileVersion(0o100644, "&quot;"), FileVersion(0o100644, "&amp;quot;"))

    assert tags([edit]) == ["test_edit"]
    assert find_file_flags([edit], outdated={path}) == []
    assert [tag for tag, _ in find_file_flags([edit], outdated={"pack/tests/fixtures/other.txt"})] == ["test_edit"]


def test_what_developers_leave_beside_a_fix_raises_no_flag() -> None:
    edits = [edit for path, text in files_left_behind().items() for edit in new_file(f"pack/{path}", text)]

    assert len(edits) > 3
    assert find_file_flags(edits) == []


@pytest.mark.parametrize(
    ("path", "text", "seen"),
    [
        ("pack/tests/conftest.py", "@pytest.fixture\ndef days():\n    return [1]\n", []),
        ("pack/conftest.py", "def pytest_addoption(parser): ...\n", []),
        ("pack/conftest.py", "def pytest_runtest_makereport(item, call): ...\n", ["tamper"]),
        ("pack/tests/conftest.py", "def pytest_collection_modifyitems(items):\n    items.clear()\n", ["tamper"]),
        ("pack/pytest.ini", "[pytest]\naddopts = -q\ntestpaths = tests\n", ["config"]),
        ("pack/pytest.ini", "[pytest]\naddopts = --collect-only\n", ["config", "tamper"]),
        ("pack/pytest.ini", "[pytest]\naddopts = -q -k nothing\n", ["config", "tamper"]),
        ("pack/json.py", "", ["tamper"]),
    ],
)
def test_settings_are_seen_where_they_decide_which_tests_run(path: str, text: str, seen: list[str]) -> None:
    assert tags(new_file(path, text)) == seen


@pytest.mark.parametrize(
    ("path", "target", "seen"),
    [
        ("pack/README.link", "README.md", []),
        ("pack/docs/latest", "../README.md", []),
        ("pack/expected", "../../../etc/passwd", ["traversal"]),
        ("pack/expected", "/etc/passwd", ["traversal"]),
        ("pack/docs/latest", "a/../../../other", ["traversal"]),
        ("pack/src/pack/money.py", "old.py", ["traversal"]),
    ],
)
def test_a_link_may_stay_in_its_repository_and_stand_for_no_code(path: str, target: str, seen: list[str]) -> None:
    assert tags(new_file(path, target, _LINK)) == seen


@pytest.mark.parametrize("line", ["from urllib.parse import quote", "import urllib.parse", "from urllib import parse"])
def test_code_may_take_urls_apart(line: str) -> None:
    assert find_file_flags(new_file("pack/src/pack/links.py", line)) == []


@pytest.mark.parametrize(
    "text",
    [
        "def main() -> None:\n    raise SystemExit(2)\n",
        "def main() -> None:\n    sys.exit(2)\n",
        '"""Raise if more than 1 passed argument is wrong."""\n',
        'path = f"{base}/logs/today.txt"\n',
        "# Reviewers: the old code did not accept None.\n",
    ],
)
def test_code_may_end_the_program_and_speak_of_what_it_does(text: str) -> None:
    assert find_file_flags(new_file("pack/src/pack/links.py", text)) == []


def test_what_a_package_does_already_is_usual_there() -> None:
    edits = new_file("pack/src/pack/more.py", "import socket\n")

    assert [tag for tag, _ in find_file_flags(edits, known_code=["import asyncio\n"])] == ["network"]
    assert find_file_flags(edits, known_code=["import socket\nimport asyncio\n"]) == []


def test_an_attribute_of_an_object_may_be_set_and_one_of_a_module_may_not() -> None:
    settings = new_file("pack/src/pack/a.py", "from pack.state import settings\n\nsettings.size = 1\n")
    module = new_file("pack/src/pack/a.py", "from pack import money\n\nmoney.parse = len\n")

    assert find_import_hooks(settings, modules={"money", "state"}) == []
    assert [tag for tag, _ in find_import_hooks(module, modules={"money", "state"})] == ["tamper"]


def test_values_that_right_code_has_are_not_learnt_by_heart() -> None:
    edits = new_file("pack/src/pack/a.py", "NAMES = ('Retry-After', 'X-Limit', 3600)\n")
    tests = ["def test_a():\n    assert a() == ('Retry-After', 'X-Limit', 3600)\n"]

    assert [tag for tag, _ in find_hardcoded_values(edits, tests)] == ["hardcode"]
    assert find_hardcoded_values(edits, tests, ["A = 'Retry-After'\nB = 'X-Limit'\nC = 3600\n"]) == []
    assert find_hardcoded_values(new_file("pack/src/pack/a.py", "A = (5, 7, ',')\n"), ["assert (5, 7, ',')"]) == []


def test_one_new_line_in_a_large_file_of_tests_can_be_read() -> None:
    text = "".join(f"def test_{number}():\n    assert {number}\n" for number in range(6000))
    before, after = FileVersion(0o100644, text), FileVersion(0o100644, f"{text}\ndef test_more():\n    assert 1\n")

    assert limit_review([EditedFile("pack/tests/test_more.py", before, after)])[1] == []
    assert limit_review(new_file("pack/tests/test_more.py", text))[1] != []


@pytest.mark.parametrize(
    ("line", "tag"),
    [
        ("from urllib.request import urlopen", "network"),
        ("from urllib import request", "network"),
        ("import urllib", "network"),
        ("time.time = lambda: 0", "timing"),
        ("sys.exit(0)", "early_exit"),
        ("os._exit(0)", "early_exit"),
    ],
)
def test_code_may_not_reach_out_turn_the_clock_or_end_the_program(line: str, tag: str) -> None:
    assert [flag for flag, _ in find_file_flags(new_file("pack/src/pack/links.py", line))] == [tag]


def test_a_finding_says_which_flag_took_what_the_code_had_earned() -> None:
    taken = make_finding("Check", Fraction(1), "all pass", [("network", "a.py: import socket"), ("peek", "ran 'ls'")])
    free = make_finding("Check", Fraction(1), "all pass", [("peek", "ran 'ls'")])

    assert (taken.score, taken.because) == (0, "all pass, but network, a.py: import socket")
    assert (free.score, free.because) == (1, "all pass")
