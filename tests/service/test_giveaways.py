"""Nothing but the code's behaviour shows where a bug is: neither a linter, nor any version, branch or tag."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.codebase.history import Author
from fixtures.codebase.service_bugs.format import ServiceBug, service_bugs
from fixtures.codebase.service_bugs.instance import BugInstance
from fixtures.codebase.service_tree import service_files

_AUTHORS = [Author(f"Engineer {number}", f"engineer{number}@tallyport.io") for number in range(12)]
_MOST_SHOWN = 0.05
_TELLING = 16
# Every history takes some tenths of a second.
_EVERY = 15


def test_a_linter_finds_no_bug(tmp_path: Path) -> None:
    bugs = service_bugs()
    for name, bug in bugs.items():
        for path in bug.paths:
            write_file(tmp_path / name / path, bug.planted[path])
    write_file(tmp_path / "pyproject.toml", service_files()["pyproject.toml"])

    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", "."]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    shown = {name for name in bugs if f"{name}/" in found}
    assert len(shown) <= _MOST_SHOWN * len(bugs), found


def test_a_formatter_finds_no_bug(tmp_path: Path) -> None:
    """The service is not formatted throughout, so only changes that the right files would not get can tell."""
    bugs = service_bugs()
    for name, bug in bugs.items():
        for path in bug.paths:
            write_file(tmp_path / name / path, bug.planted[path])
            write_file(tmp_path / "as-it-is" / path, service_files()[path])
    write_file(tmp_path / "pyproject.toml", service_files()["pyproject.toml"])

    command = [sys.executable, "-m", "ruff", "format", "--no-cache", "--diff", "."]
    changes = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    changed: dict[tuple[str, str], set[str]] = {}
    for part in re.split(r"^--- ", changes, flags=re.MULTILINE)[1:]:
        name, _, path = part.partition("\n")[0].partition("/")
        changed[name, path] = {line for line in part.splitlines()[2:] if line[:1] in "+-"}
    shown = {
        name
        for name, bug in bugs.items()
        if any(changed.get((name, path), set()) - changed.get(("as-it-is", path), set()) for path in bug.paths)
    }
    assert changed
    assert len(shown) <= _MOST_SHOWN * len(bugs), shown


def write_file(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.mark.parametrize("name", list(service_bugs())[::_EVERY])
def test_no_version_has_the_right_lines(name: str) -> None:
    bug = service_bugs()[name]
    instance = BugInstance(bug)
    texts = [
        content.decode() for kind, content in instance.history(_AUTHORS).repository.objects.values() if kind == "blob"
    ]
    head = "\n".join(instance.head.values())

    telling = [line for line in _right_lines(bug) if line not in head]
    assert [line for line in telling if any(line in text for text in texts)] == []


def _right_lines(bug: ServiceBug) -> Iterator[str]:
    for edit in bug.plant:
        kept = set(edit.new.splitlines())
        for line in (edit.old or "").splitlines():
            if line not in kept and len(line.strip()) >= _TELLING:
                yield line.strip()


def test_every_version_of_the_history_compiles_and_ends_in_the_head() -> None:
    history = BugInstance(next(iter(service_bugs().values()))).history(_AUTHORS)
    blobs = [content.decode() for kind, content in history.repository.objects.values() if kind == "blob"]
    python = [text for text in blobs if text.startswith(('"""', "import ", "from ", "# ", "SQL"))]

    assert len(history.commits) >= 150
    assert len(python) > 150
    for text in python:
        if not text.startswith("# ") or "GENERATED" in text:
            compile(text, "version", "exec")
