"""How a scripted model repairs a limit that is off by one; it runs where the code is.

Each comparison of the module is moved to its neighbour in turn, until the example of the issue gives what the issue
expects and the package's tests pass.

usage: python3 repair.py MODULE PROGRAM EXPECTED     in the folder of the package; the repair stays in the file
"""

import os
import re
import subprocess
import sys
from pathlib import Path

_COMPARISON = re.compile(r"(?<= )(<=|>=|<|>)(?= )")


class NotExplained(Exception):
    """No single comparison explains the issue."""


def repair(root: Path, module: str, program: str, expected: str) -> Path:
    """Returns the file that holds the repair, which may have been made before."""
    path = root / "src" / f"{module.replace('.', '/')}.py"
    source = path.read_text()
    if works(root, program, expected):
        return path
    for found in _COMPARISON.finditer(source):
        neighbour = found[0].removesuffix("=") if found[0].endswith("=") else f"{found[0]}="
        path.write_text(source[: found.start()] + neighbour + source[found.end() :])
        if works(root, program, expected):
            return path
    path.write_text(source)
    raise NotExplained(path)


def works(root: Path, program: str, expected: str) -> bool:
    env = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    example = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env=env, capture_output=True, text=True, check=False
    )
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    return (
        example.stdout.strip() == expected
        and subprocess.run(tests, cwd=root, env=env, capture_output=True, check=False).returncode == 0
    )


if __name__ == "__main__":
    print(repair(Path.cwd(), *sys.argv[1:]))
