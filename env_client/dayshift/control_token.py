"""Where the client finds the token of control: the environment, files of a stack on this machine, compose's default."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

# compose.yaml sets it where DAYSHIFT_CONTROL_TOKEN is not set; its ports are bound to the loopback address alone.
COMPOSE_DEFAULT = "laptop-control"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class TokenCandidate:
    """A token that may be the right one, and where it was found."""

    token: str = field(repr=False)
    source: str


def find_candidates(url: str) -> tuple[TokenCandidate, ...]:
    """Returns what was found for control at `url`, best first; a token in the environment is the only one."""
    if token := os.environ.get("DAYSHIFT_CONTROL_TOKEN"):
        return (TokenCandidate(token, "DAYSHIFT_CONTROL_TOKEN"),)
    candidates: dict[str, TokenCandidate] = {}
    for candidate in _find_on_this_machine(url):
        candidates.setdefault(candidate.token, candidate)
    return tuple(candidates.values())


def user_token_file(url: str) -> Path:
    """The file in which a stack of this user's at `url` leaves its token, for clients in any folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    parts = urlsplit(url)
    host = "127.0.0.1" if parts.hostname in _LOOPBACK else parts.hostname
    return Path(state) / "dayshift" / f"{host}-{parts.port or parts.scheme}.token"


def write_user_token(url: str, token: str) -> Path:
    """Writes the file, readable by its owner alone, and returns its path."""
    path = user_token_file(url)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A new file: one that is there already may have a wider mode.
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token)
    return path


def remove_user_token(url: str, token: str) -> None:
    """Removes the file unless another stack has written its own token since."""
    path = user_token_file(url)
    if _read(path) == token:
        path.unlink(missing_ok=True)


def _find_on_this_machine(url: str) -> Iterator[TokenCandidate]:
    if urlsplit(url).hostname not in _LOOPBACK:
        # A token of this machine's is nobody else's business: for other hosts it is set in the environment.
        return
    stack_folders = [Path(folder) for folder in (os.environ.get("DAYSHIFT_VAR"), "var") if folder]
    files = [folder / "control.token" for folder in stack_folders]
    # The user's file before that of this folder: it belongs to a stack at this very address.
    for path in (*files[:-1], user_token_file(url), files[-1]):
        if token := _read(path):
            yield TokenCandidate(token, str(path))
    yield TokenCandidate(COMPOSE_DEFAULT, "the default of compose.yaml")


def is_token(text: str) -> bool:
    """Whether an HTTP header can carry it."""
    return bool(text) and text.isascii() and text.isprintable() and text == text.strip()


def _read(path: Path) -> str:
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        # Another user's file, or none: the next place may have it, and a refusal names every place that had one.
        return ""
    return text if is_token(text) else ""
