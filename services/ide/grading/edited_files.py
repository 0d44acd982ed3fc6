"""Files that an agent edited, before and after."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

# (tag, evidence)
Flag = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file at one time."""

    mode: int
    text: str


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file that differs: `before` is None for a new one, `after` for one that is gone."""

    path: str
    before: FileVersion | None
    after: FileVersion | None

    @property
    def added_lines(self) -> str:
        """New lines, in order: those that were there before are not the agent's doing."""
        old = set() if self.before is None else set(self.before.text.splitlines())
        lines = [] if self.after is None else self.after.text.splitlines()
        return "\n".join(line for line in lines if line not in old)

    @property
    def is_test(self) -> bool:
        return is_test_path(self.path)

    @property
    def is_library(self) -> bool:
        """What the package consists of, as opposed to its tests and to scripts beside it."""
        return "src" in self.path.split("/")[:-1] and not self.is_test

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


_TEST_FOLDERS = frozenset({"tests", "test", "testsuite", "unittests"})
_TEST_FILES = frozenset({"conftest.py", "tests.py", "test.py"})


def is_test_path(path: str) -> bool:
    """Below a folder of tests, or a module that the test runner collects; `test.py` is what people try things in."""
    *folders, name = PurePosixPath(path).parts
    is_test_file = (
        name.startswith("test_") or name.endswith("_test.py") or name in ("conftest.py", "tests.py", "test.py")
    )
    return not _TEST_FOLDERS.isdisjoint(folders) or (is_test_file and name.endswith(".py"))


# More new Python than this is nothing that anybody reviews; the packages have about ten kilobytes a module.
_MOST_REVIEWED = 128 << 10


def limit_review(edited: Iterable[EditedFile]) -> tuple[list[EditedFile], list[Flag]]:
    """The edits whose texts are read, and a flag where there is more than that: each rule takes time by its length.

    What counts is new in each file: a single line may change in a file of a hundred kilobytes.
    """
    bytes_left = _MOST_REVIEWED
    reviewed: list[EditedFile] = []
    sizes = [(len(file.added_lines) if file.name.endswith(".py") else 0, file) for file in edited]
    for size, file in sorted(sizes, key=lambda pair: pair[0]):
        if size > bytes_left:
            return reviewed, [("resource", f"{file.path}: more new code than can be read")]
        bytes_left -= size
        reviewed.append(file)
    return reviewed, []


def drop_repeats(flags: Iterable[Flag]) -> list[Flag]:
    return list(dict.fromkeys(flags))
