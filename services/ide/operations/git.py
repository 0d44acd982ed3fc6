"""git in the workspace, for the workspace API: git itself runs in the sandbox."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.ide.errors import BadRequest, Conflict, NotFound
from services.ide.operations.processes import absolute_path, run
from services.ide.sandbox.sandbox import ProcessResult
from services.kernel.errors import Refusal
from services.kernel.world import World

_SECONDS = 60.0
_FIELD_END, _RECORD_END = "\x1f", "\x1e"
_RESET_MODES = ("soft", "mixed", "hard", "merge", "keep")
_STATES = {
    " ": "Unmodified",
    "M": "Modified",
    "T": "Modified",
    "A": "Added",
    "D": "Deleted",
    "R": "Renamed",
    "C": "Copied",
    "U": "Updated but unmerged",
    "?": "Untracked",
}


@dataclass(frozen=True, slots=True)
class FileState:
    """One file that differs from the last commit."""

    name: str
    staging: str
    worktree: str
    extra: str


@dataclass(frozen=True, slots=True)
class Status:
    """The branch of a working tree, its distance to its upstream, and the changed files."""

    branch: str
    ahead: int
    behind: int
    published: bool
    detached: bool
    files: list[FileState]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit of the history."""

    hash: str
    author: str
    email: str
    message: str
    timestamp: str


async def git(world: World, path: str, *arguments: str) -> ProcessResult:
    """Where git fails, its own message is the refusal."""
    result = await run(world, ["git", *arguments], cwd=path, seconds=_SECONDS)
    if result.timed_out:
        raise BadRequest("git took too long")
    if result.exit_code:
        raise _explain(result.error_text.strip() or result.text.strip())
    return result


async def status(world: World, path: str) -> Status:
    result = await git(world, path, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
    branch, ahead, behind, published = "", 0, 0, False
    files: list[FileState] = []
    fields = iter(result.text.split("\0"))
    for line in fields:
        match line[:2]:
            case "# ":
                key, _, value = line[2:].partition(" ")
                branch = value if key == "branch.head" else branch
                published = published or key == "branch.upstream"
                if key == "branch.ab":
                    up, down = value.split()
                    ahead, behind = int(up), -int(down)
            case "1 ":
                files.append(_state(line[2:4], line.split(" ", 8)[8]))
            case "2 ":
                files.append(_state(line[2:4], line.split(" ", 9)[9], next(fields)))
            case "u ":
                files.append(_state("UU", line.split(" ", 10)[10]))
            case "? ":
                files.append(_state("??", line[2:]))
    return Status(branch, ahead, behind, published, branch == "(detached)", files)


async def list_branches(world: World, path: str) -> tuple[list[str], str]:
    """All branches, and the current one."""
    branches = await git(world, path, "for-each-ref", "--format=%(refname:short)", "refs/heads")
    head = await run(world, ["git", "symbolic-ref", "-q", "--short", "HEAD"], cwd=path, seconds=_SECONDS)
    return branches.text.split(), head.text.strip()


async def create_branch(world: World, path: str, name: str) -> None:
    await git(world, path, "branch", "--", name)


async def delete_branch(world: World, path: str, name: str) -> None:
    await git(world, path, "branch", "-D", "--", name)


async def checkout(world: World, path: str, branch: str) -> None:
    if branch.startswith("-"):
        raise BadRequest(f"{branch!r} is not a branch")
    await git(world, path, "checkout", "-q", branch, "--")


async def add(world: World, path: str, files: Sequence[str]) -> None:
    await git(world, path, "add", "--", *files)


async def commit(world: World, path: str, message: str, author: str, email: str, *, allow_empty: bool) -> str:
    who = ["-c", f"user.name={author}", "-c", f"user.email={email}"]
    await git(world, path, *who, "commit", "-q", "-m", message, *(["--allow-empty"] if allow_empty else []))
    return (await git(world, path, "rev-parse", "HEAD")).text.strip()


async def push(world: World, path: str, *, set_upstream: bool, remote: str = "", branch: str = "") -> None:
    await git(world, path, "push", "-q", *(["-u"] if set_upstream else []), remote or "origin", branch or "HEAD")


async def pull(world: World, path: str, remote: str = "", branch: str = "") -> None:
    await git(world, path, "pull", "-q", "--no-rebase", *([remote or "origin", branch] if branch else []))


async def clone(world: World, url: str, path: str, branch: str | None, commit_id: str | None) -> None:
    """From the company's code host, by its ssh address or its web address: nothing else can be reached."""
    options = ["-b", branch] if branch else []
    await git(world, "", "clone", "-q", *options, "--", ssh_address(url), absolute_path(path))
    if commit_id:
        await git(world, path, "checkout", "-q", commit_id, "--")


async def list_history(world: World, path: str) -> list[LogEntry]:
    pattern = _FIELD_END.join(("%H", "%an", "%ae", "%aI", "%B")) + _RECORD_END
    result = await git(world, path, "log", f"--format={pattern}")
    return [_parse_log_entry(text) for text in result.text.split(_RECORD_END) if text.strip()]


async def init(world: World, path: str) -> None:
    await git(world, "", "init", "-q", "--", absolute_path(path))


async def list_remotes(world: World, path: str) -> dict[str, str]:
    """Addresses by name."""
    listing = await git(world, path, "remote", "-v")
    return {line.split()[0]: line.split()[1] for line in listing.text.splitlines() if line.endswith("(fetch)")}


async def add_remote(world: World, path: str, name: str, url: str) -> None:
    await git(world, path, "remote", "add", "--", name, url)


async def reset(world: World, path: str, mode: str, target: str | None) -> None:
    if mode not in _RESET_MODES:
        raise BadRequest(f"{mode!r} is not a way to reset")
    await git(world, path, "reset", "-q", f"--{mode}", *([target] if target else []), "--")


async def restore(world: World, path: str, files: Sequence[str], *, staged: bool, source: str | None) -> None:
    where = ["--staged"] if staged else []
    await git(world, path, "restore", *where, *([f"--source={source}"] if source else []), "--", *files)


async def set_config(world: World, path: str | None, key: str, value: str, scope: str) -> None:
    await git(world, path or "", "config", "--local" if scope == "local" else "--global", key, value)


async def get_config(world: World, path: str | None, key: str) -> str:
    result = await run(world, ["git", "config", "--get", key], cwd=path or "", seconds=_SECONDS)
    return result.text.strip()


def ssh_address(url: str) -> str:
    """A web address of the code host names the same repository as its ssh address."""
    if "://" not in url or url.startswith("ssh://"):
        return url
    owner_and_name = "/".join(url.split("/")[-2:])
    return f"git@origin:{owner_and_name}"


def _parse_log_entry(text: str) -> LogEntry:
    sha, author, email, timestamp, message = text.strip("\n").split(_FIELD_END)
    return LogEntry(sha, author, email, message.rstrip("\n"), timestamp)


def _state(codes: str, name: str, before: str = "") -> FileState:
    staging, worktree = (_STATES.get(code.replace(".", " "), "Modified") for code in codes)
    return FileState(name, staging, worktree, before)


def _explain(error_text: str) -> Refusal:
    text = error_text.removeprefix("fatal: ").removeprefix("error: ")
    if "not a git repository" in text or "did not match any file" in text or "does not exist" in text:
        return NotFound(text)
    if "already exists" in text or "rejected" in text or "declined" in text:
        return Conflict(text)
    return BadRequest(text)
