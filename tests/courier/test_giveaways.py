"""Nothing but the code's behaviour shows where a bug is: no version, branch or tag has the right lines."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.codebase.courier_bugs.format import CourierBug, courier_bugs
from fixtures.codebase.courier_bugs.instance import CourierInstance
from fixtures.codebase.courier_history import without_definition
from fixtures.codebase.courier_tree import courier_files
from fixtures.codebase.history import Author

_AUTHORS = [Author(f"Engineer {number}", f"engineer{number}@tallyport.io") for number in range(12)]
_TELLING = 16
_LEAST_LINES, _LEAST_COMMITS, _LEAST_AUTHORS = 1500, 30, 7


def test_the_service_is_of_a_realistic_size() -> None:
    lines = sum(text.count("\n") for path, text in courier_files().items() if path.startswith("src/"))

    assert lines >= _LEAST_LINES


@pytest.mark.parametrize("name", list(courier_bugs()))
def test_no_version_has_the_right_lines(name: str) -> None:
    bug = courier_bugs()[name]
    instance = CourierInstance(bug)
    repository = instance.history(_AUTHORS).repository
    texts = [content.decode() for kind, content in repository.objects.values() if kind == "blob"]
    head = "\n".join(instance.head.values())

    telling = [line for line in _right_lines(bug) if line not in head]
    assert [line for line in telling if any(line in text for text in texts)] == []


def _right_lines(bug: CourierBug) -> Iterator[str]:
    for edit in bug.plant:
        kept = set(edit.new.splitlines())
        for line in (edit.old or "").splitlines():
            if line not in kept and len(line.strip()) >= _TELLING:
                yield line.strip()


def test_the_history_ends_in_the_head_and_has_releases(tmp_path: Path) -> None:
    instance = CourierInstance(next(iter(courier_bugs().values())))
    history = instance.history(_AUTHORS)
    bundle, clone = tmp_path / "courier.bundle", tmp_path / "courier"
    bundle.write_bytes(history.repository.bundle())
    subprocess.run(["git", "clone", "-q", "-b", "main", bundle, clone], check=True)

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", clone, *arguments], capture_output=True, text=True, check=True).stdout

    assert len(git("log", "--format=%h").split()) >= _LEAST_COMMITS
    assert len(set(git("log", "--format=%ae").split())) >= _LEAST_AUTHORS
    assert git("tag").split() == ["v2.0.0", "v2.1.0", "v2.2.0", "v2.3.0", "v2.4.0"]
    assert set(git("ls-files").split()) == set(instance.head)
    assert git("show", "HEAD:src/time.ts") == instance.head["src/time.ts"]
    assert "## 2.1.0" not in git("show", "v2.0.0:CHANGELOG.md")


def test_a_definition_is_taken_out_with_its_comment() -> None:
    text = "import a;\n\n/** One. */\nexport function one() {\n  return 1;\n}\n\nfunction two() {\n  return 2;\n}\n"

    assert without_definition(text, "one") == "import a;\n\nfunction two() {\n  return 2;\n}\n"
