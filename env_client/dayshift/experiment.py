"""The manifest of an experiment: what somebody needs in order to run it again and to trust its curve."""

import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dayshift.curriculum import Curriculum
from dayshift.version import VERSION

SCHEMA = "dayshift.experiment/1"
_GIT_SECONDS = 10


def write_experiment(
    path: str | Path,
    *,
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    packages: Iterable[str] = (),
    fingerprints: Mapping[str, str] | None = None,
    curriculum: Curriculum | Sequence[Mapping[str, Any]] | None = None,
    results: Any = None,
) -> dict[str, Any]:
    """Writes seeds, settings, versions, fingerprints of the worlds, git state and results as JSON, and returns them.

    `curriculum` is one, or the states of several that other processes had.
    """
    manifest = {
        "schema": SCHEMA,
        "seeds": list(seeds),
        "settings": dict(settings),
        "versions": read_versions(("gymnasium", "numpy", *packages)),
        "fingerprints": dict(sorted((fingerprints or {}).items())),
        "git": read_git_state(),
        "curriculum": curriculum.state() if isinstance(curriculum, Curriculum) else curriculum,
        "results": results,
    }
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(manifest, indent=2, default=str) + "\n", encoding="utf-8")
    return manifest


def read_versions(packages: Iterable[str]) -> dict[str, str]:
    """Returns the versions of Python, of this package and of those that are installed among `packages`."""
    versions = {"python": platform.python_version(), "dayshift": VERSION}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def read_git_state(folder: str | Path = ".") -> dict[str, Any] | None:
    """Returns the commit and whether files differ from it; None outside of a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain")
    return None if commit is None or changed is None else {"commit": commit, "changed": bool(changed)}


def _git(folder: str | Path, *arguments: str) -> str | None:
    try:
        process = subprocess.run(  # noqa: S603 - fixed words and the caller's folder
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - whichever git the user has
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip()
