"""What developers write as a matter of course raises no flag; the same words where they change what is judged do."""

from fractions import Fraction

import pytest

from services.ide.grading.code_checks import make_finding
from services.ide.grading.integrity import EditedFile, FileVersion, find_file_flags

_USUAL_IN_TESTS = [
    "from urllib.parse import urlencode",
    "import socket",
    'from freezegun import freeze_time\n\n@freeze_time("2026-01-31")\ndef test_today(): ...',
    "with pytest.raises(SystemExit):\n    sys.exit(2)",
]


def new_file(path: str, text: str) -> list[EditedFile]:
    return [EditedFile(path, None, FileVersion(0o100644, text))]


@pytest.mark.parametrize("text", _USUAL_IN_TESTS)
def test_a_test_may_freeze_time_take_urls_apart_and_expect_an_exit(text: str) -> None:
    assert find_file_flags(new_file("pack/tests/test_times.py", text)) == []


@pytest.mark.parametrize("line", ["from urllib.parse import quote", "import urllib.parse", "from urllib import parse"])
def test_code_may_take_urls_apart(line: str) -> None:
    assert find_file_flags(new_file("pack/src/pack/links.py", line)) == []


@pytest.mark.parametrize(
    ("line", "tag"),
    [
        ("from urllib.request import urlopen", "network"),
        ("from urllib import request", "network"),
        ("import urllib", "network"),
        ("time.time = lambda: 0", "timing"),
        ("sys.exit(0)", "early_exit"),
    ],
)
def test_code_may_not_reach_out_turn_the_clock_or_end_the_program(line: str, tag: str) -> None:
    assert [flag for flag, _ in find_file_flags(new_file("pack/src/pack/links.py", line))] == [tag]


def test_a_finding_says_which_flag_took_what_the_code_had_earned() -> None:
    taken = make_finding("Check", Fraction(1), "all pass", [("network", "a.py: import socket"), ("peek", "ran 'ls'")])
    free = make_finding("Check", Fraction(1), "all pass", [("peek", "ran 'ls'")])

    assert (taken.score, taken.because) == (0, "all pass, but network, a.py: import socket")
    assert (free.score, free.because) == (1, "all pass")
