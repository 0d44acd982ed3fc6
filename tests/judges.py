"""Where the tests find the trainers: `.ci/integrations` installs each into an environment of its own."""

from pathlib import Path

JUDGES = Path(__file__).resolve().parents[1] / "build" / "integrations"


def python_of(name: str) -> Path:
    """Returns the Python of a judge's virtual environment."""
    python = JUDGES / name / "bin" / "python"
    assert python.exists(), f"{name} is not installed; `.ci/integrations` installs every judge"
    return python
