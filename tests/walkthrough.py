"""Follows a page as its reader does: writes its files, and runs its commands in a fresh folder with a fresh environment."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_IN_CLONE = "# in the clone\n"


@dataclass(frozen=True)
class Reader:
    """Somebody with a clone at `clone` and an empty folder beside it; `programs` come first on the clone's path."""

    folder: Path
    clone: Path
    programs: Path
    settings: Mapping[str, str]
    # Called where the page says `make up`, for the first time and again.
    start: Callable[[], None]

    def follow(self, page: str, *, without_clone: bool = False) -> str:
        """Everything that the commands printed; a block that fails ends it."""
        output = []
        for language, block in blocks(page):
            if language == "python":
                self._write(block, without_clone=without_clone)
            elif not block.startswith(_IN_CLONE):
                output.append(
                    self._run(block, self.folder, f". {self.folder}/.venv/bin/activate 2>/dev/null || true\n")
                )
            elif without_clone:
                continue
            elif "make up" in block:
                self.start()
            else:
                output.append(self._run(block, self.clone, f"export PATH={self.programs}:$PATH\n"))
        return "".join(output)

    def _write(self, block: str, *, without_clone: bool) -> None:
        name = block.partition("\n")[0].removeprefix("# ")
        assert name.endswith(".py"), f"the block does not say which file it is: {name}"
        if not (without_clone and name.startswith("..")):
            (self.folder / name).write_text(block)

    def _run(self, block: str, folder: Path, before: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", before + block],
            cwd=folder,
            env={**self._environment(), **self.settings},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @staticmethod
    def _environment() -> dict[str, str]:
        left_out = ("DAYSHIFT_", "VIRTUAL_ENV", "PYTHON")
        return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """(language, content) of the page's blocks, in order; a block of commands has no language."""
    for found in _BLOCK.finditer(page):
        yield found[1], found[2]
