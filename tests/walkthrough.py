"""Follows a page as its reader does: writes its files, and runs its commands in a fresh folder with a fresh environment."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_IN_CLONE = "# in the clone\n"
_ON_COMPOSE = "# in the clone, with Docker Compose\n"
# Blocks of the README that start and stop a stack, which the tests do themselves.
_STARTED = ("make ", "docker compose ")
# The next block runs where this one ended, as in a terminal that stays open.
_REMEMBER_FOLDER = '\nprintf %s "$PWD" >&"$FOLDER_PIPE"\n'


@dataclass
class Reader:
    """Somebody with a clone and two terminals: one stays in the clone, the other begins at `folder`.

    Neither knows the environment of this suite: a page that needs a program says which environment has it.
    """

    folder: Path
    clone: Path
    settings: Mapping[str, str]
    # Called where the page says `make up`, for the first time and again.
    start: Callable[[], None]
    # Runs commands of Docker Compose in the clone, for somebody who has the stack there and no environment in the clone.
    compose: Callable[[str], str] | None = None

    def follow(self, page: str) -> str:
        """Everything that the commands printed; a block that fails ends it."""
        output = []
        for language, block in blocks(page):
            if language == "python":
                self._write(block)
            elif block.startswith(_ON_COMPOSE):
                output.append(self.compose(block) if self.compose else "")
            elif not block.startswith(_IN_CLONE):
                output.append(self.run(block))
            elif "make up" in block:
                self.start()
            elif not self.compose:
                output.append(self._run(block, self.clone)[0])
        return "".join(output)

    def run(self, commands: str) -> str:
        """Runs them in the terminal outside of the clone, with the environment of its folder where there is one."""
        activated = self.folder / ".venv" / "bin" / "activate"
        before = f". {activated}\n" if activated.exists() else ""
        output, self.folder = self._run(before + commands, self.folder)
        return output

    def _write(self, block: str) -> None:
        name = block.partition("\n")[0].removeprefix("# ")
        assert name.endswith(".py"), f"the block does not say which file it is: {name}"
        (self.folder / name).write_text(block)

    def _run(self, commands: str, folder: Path) -> tuple[str, Path]:
        """What they printed, and the folder in which they ended."""
        reading, writing = os.pipe()
        with os.fdopen(reading) as ended:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands + _REMEMBER_FOLDER],
                cwd=folder,
                env={**self._environment(), **self.settings, "FOLDER_PIPE": str(writing)},
                pass_fds=(writing,),
                capture_output=True,
                text=True,
                check=False,
            )
            os.close(writing)
            assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
            return done.stdout, Path(ended.read())

    @staticmethod
    def _environment() -> dict[str, str]:
        left_out = ("DAYSHIFT_", "VIRTUAL_ENV", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        # The suite may have been started from an activated environment, whose programs a reader does not have.
        suite = os.environ.get("VIRTUAL_ENV", "")
        folders = [folder for folder in kept["PATH"].split(os.pathsep) if not suite or not folder.startswith(suite)]
        return {**kept, "PATH": os.pathsep.join(folders)}


@dataclass
class ReadmeReader:
    """Somebody who does what the README says, in a fresh folder with a fresh environment, beside a running stack."""

    reader: Reader
    base: int
    playground: str
    provider: str

    def follow(self, readme: str) -> dict[str, str]:
        """What each block printed, by its first line; a block that fails ends it."""
        self.reader.run("python3 -m venv .venv")
        output = {}
        for number, (language, block) in enumerate(blocks(readme)):
            commands = self._here(block)
            if language == "python":
                (self.reader.folder / f"block{number}.py").write_text(commands)
                commands = f"python block{number}.py"
            elif block.startswith(_STARTED):
                continue
            elif "./env_client" in block:
                commands = f"cd {self.reader.clone}\n{commands}\ncd {self.reader.folder}"
            elif block.startswith("dayshift view"):
                # It serves until it is stopped.
                commands = f"timeout -s INT 10 {commands.partition('#')[0].strip()} --port 0 || true"
            output[block.partition("\n")[0]] = self.reader.run(commands)
        return output

    def _here(self, block: str) -> str:
        """With this stack's ports and credential, a scripted model, and a family that it can solve."""
        block = re.sub(r"127\.0\.0\.1:87(\d\d)", lambda port: f"127.0.0.1:{self.base + int(port[1])}", block)
        for readers, ours in (
            ('"playground"', f'"{self.playground}"'),
            ("Bearer playground", f"Bearer {self.playground}"),
            ('"gpt-5"', '"solver"'),
            ("openai/NAME", "openai/solver"),
            ("runs/openai-NAME", "runs/openai-solver"),
            ("http://127.0.0.1:8000", self.provider),
            ("'crm/*' --seeds 20 --rollouts 4", "crm/correct-contact --seeds 2 --rollouts 2"),
        ):
            block = block.replace(readers, ours)
        return block


def check_readme(output: dict[str, str]) -> None:
    """What the blocks of the README print on either stack."""
    silent = ("pip install hubspot", "import dayshift, gymnasium")
    printed = {line: text for line, text in output.items() if not line.startswith(silent)}

    assert all(text.strip() for text in printed.values()), printed
    assert sum("passed 1.0" in text for text in printed.values()) == 2, printed
    by_start = {line.partition(" --")[0]: text for line, text in printed.items()}
    assert re.search(r"^crm/correct-contact +4 +4 +100\.0%", by_start["dayshift run"], flags=re.MULTILINE), by_start
    assert "the viewer is at http://127.0.0.1:" in next(text for line, text in printed.items() if "view runs" in line)
    assert any('"results":' in text for line, text in printed.items() if line.startswith("curl "))


def check_tutorial(output: str) -> None:
    """What the commands of the tutorial print on either stack."""
    assert "passed 1.0" in output
    assert re.search(r"^crm/correct-contact +5 +5 +100\.0%", output, flags=re.MULTILINE), output
    assert re.search(r"crm/record-promotion .* 26 of 26 .* passed", output), output
    assert re.search(r"^crm/record-promotion +3 +0 +0\.0%", output, flags=re.MULTILINE), output
    before, after = map(float, re.findall(r"([+-]\d\.\d\d) (?:before|after)", output))
    assert after > before + 0.3


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """(language, content) of the page's blocks, in order; a block of commands has no language."""
    for found in _BLOCK.finditer(page):
        yield found[1], found[2]
