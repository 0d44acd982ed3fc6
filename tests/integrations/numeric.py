"""Runs programs of numeric trainers in their own environment, against a stack or one that breaks at times."""

import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.client.faulty_server import FaultyServer
from tests.company import WORLD
from tests.control.stack import TASK, TOKEN

PROGRAMS = Path(__file__).parent / "programs"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OPTIONS = {"task": TASK, "world": WORLD, "max_steps": 8}
_SECONDS = 400


@dataclass(frozen=True)
class Trainer:
    """The Python of a trainer, and the control API that its programs find."""

    python: Path
    url: str

    def of(self, server: FaultyServer) -> "Trainer":
        return replace(self, url=server.address.url)

    def run(self, program: Path, *arguments: str) -> str:
        settings = {"DAYSHIFT_CONTROL_URL": self.url, "DAYSHIFT_CONTROL_TOKEN": TOKEN, "OMP_NUM_THREADS": "1"}
        process = subprocess.run(
            [str(self.python), str(program), *arguments],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def train(self, program: str, options: dict[str, Any], *arguments: str) -> dict[str, Any]:
        """The program's last line is its result as JSON."""
        lines = self.run(PROGRAMS / f"{program}.py", json.dumps(options), *arguments).splitlines()
        result: dict[str, Any] = json.loads(lines[-1])
        return result
