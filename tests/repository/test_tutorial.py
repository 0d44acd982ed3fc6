"""A reader who follows the tutorial and the guides gets what they promise."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.company import small_company
from tests.control.stack import Stack
from tests.control.worlds import build_worlds
from tests.walkthrough import Reader, blocks, check_tutorial

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages whose Python runs by itself against a started stack.
GUIDES = ("guides/trainers.md", "guides/many-episodes.md")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository as they are, without what a build leaves."""
    folder = tmp_path_factory.mktemp("reader") / "dayshift"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # What `make up` installs there.
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    return folder


@pytest.fixture(scope="module")
def stack(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    shutil.copytree(small_company(tmp_path_factory) / "worlds", clone / "var" / "worlds")
    build_worlds(clone / "var" / "worlds")
    started = Stack(clone / "var", root=clone).start()
    yield started
    started.stop()


def reader(stack: Stack, folder: Path) -> Reader:
    def restart() -> None:
        stack.stop()
        stack.log.unlink()
        stack.start()

    # The token is not among them: the stack leaves it where a client of the same user looks for it.
    settings = {
        "DAYSHIFT_CONTROL_URL": f"http://127.0.0.1:{stack.base}",
        "XDG_STATE_HOME": str(stack.var / "state"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    return Reader(folder, stack.root, settings, restart)


def test_the_tutorial_can_be_followed_in_an_empty_folder(stack: Stack) -> None:
    output = reader(stack, stack.root.parent).follow((DOCS / "tutorial.md").read_text())

    check_tutorial(output)


@pytest.mark.parametrize("page", GUIDES)
def test_the_python_of_a_guide_runs(stack: Stack, page: str) -> None:
    settings = {**os.environ, **reader(stack, stack.root.parent).settings}
    for language, block in blocks((DOCS / page).read_text()):
        if language == "python":
            command = [sys.executable, "-c", block]
            done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert done.stdout


def test_every_command_of_the_guides_has_its_options() -> None:
    """Commands that need a model or an engine are not run; their words are those of the parser."""
    for page in (*DOCS.glob("guides/*.md"), DOCS / "tutorial.md", DOCS / "evaluating-a-model.md"):
        for line in re.findall(r"^dayshift (.+?)(?: +#.*)?$", page.read_text(), flags=re.MULTILINE):
            command, *arguments = line.split()
            helped = subprocess.run(
                [sys.executable, "-m", "dayshift", command, "--help"], capture_output=True, text=True, check=True
            ).stdout
            named = {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}
            assert named <= set(re.findall(r"--[a-z-]+", helped)), f"{page.name}: {line}"
