"""git in the workspace, as the workspace API asks for it: git itself, inside."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.ide.errors import BadRequest, Conflict, NotFound
from services.ide.operations.processes import absolute, run
from services.ide.sandbox import Ran
from services.kernel.world import World

_SECONDS = 60.0
_FIELD, _BREAK = "\x1f", "\x1e"
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
    """One file that is not as the last commit has it."""

    name: str
    staging: str
    worktree: str
    extra: str


@dataclass(frozen=True, slots=True)
class Status:
    """Where a working tree stands."""

    branch: str
    ahead: int
    behind: int
    published: bool
    detached: bool
    files: list[FileState]


@dataclass(frozen=True, slots=True)
class Logged:
    """One commit of the history."""

    hash: str
    author: str
    email: str
    message: str
    timestamp: str


async def git(world: World, path: str, *arguments: str) -> Ran:
    """git's own complaint is the refusal."""
    ran = await run(world, ["git", *arguments], cwd=path, seconds=_SECONDS)
    if ran.timed_out:
        raise BadRequest("git took too long")
    if ran.exit:
        _refuse(ran.complaint.strip() or ran.text.strip())
    return ran


async def status(world: World, path: str) -> Status:
    ran = await git(world, path, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
    branch, ahead, behind, published = "", 0, 0, False
    files: list[FileState] = []
    fields = iter(ran.text.split("\0"))
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


async def branches(world: World, path: str) -> tuple[list[str], str]:
    listed = await git(world, path, "for-each-ref", "--format=%(refname:short)", "refs/heads")
    head = await run(world, ["git", "symbolic-ref", "-q", "--short", "HEAD"], cwd=path, seconds=_SECONDS)
    return listed.text.split(), head.text.strip()


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
    """From the company's code host, over ssh or as it is linked: nothing else can be reached."""
    await git(world, "", "clone", "-q", *(["-b", branch] if branch else []), "--", reachable(url), absolute(path))
    if commit_id:
        await git(world, path, "checkout", "-q", commit_id, "--")


async def history(world: World, path: str) -> list[Logged]:
    form = _FIELD.join(("%H", "%an", "%ae", "%aI", "%B")) + _BREAK
    ran = await git(world, path, "log", f"--format={form}")
    return [_logged(text) for text in ran.text.split(_BREAK) if text.strip()]


async def init(world: World, path: str) -> None:
    await git(world, "", "init", "-q", "--", absolute(path))


async def remotes(world: World, path: str) -> dict[str, str]:
    listed = await git(world, path, "remote", "-v")
    return {line.split()[0]: line.split()[1] for line in listed.text.splitlines() if line.endswith("(fetch)")}


async def add_remote(world: World, path: str, name: str, url: str) -> None:
    await git(world, path, "remote", "add", "--", name, url)


async def reset(world: World, path: str, mode: str, target: str | None) -> None:
    if mode not in ("soft", "mixed", "hard", "merge", "keep"):
        raise BadRequest(f"{mode!r} is not a way to reset")
    await git(world, path, "reset", "-q", f"--{mode}", *([target] if target else []), "--")


async def restore(world: World, path: str, files: Sequence[str], *, staged: bool, source: str | None) -> None:
    where = ["--staged"] if staged else []
    await git(world, path, "restore", *where, *([f"--source={source}"] if source else []), "--", *files)


async def set_config(world: World, path: str | None, key: str, value: str, scope: str) -> None:
    await git(world, path or "", "config", "--local" if scope == "local" else "--global", key, value)


async def config(world: World, path: str | None, key: str) -> str:
    ran = await run(world, ["git", "config", "--get", key], cwd=path or "", seconds=_SECONDS)
    return ran.text.strip()


def reachable(url: str) -> str:
    """A link to the code host's web address means the same repository over ssh."""
    if "://" not in url or url.startswith("ssh://"):
        return url
    owner_and_name = "/".join(url.split("/")[-2:])
    return f"git@origin:{owner_and_name}"


def _logged(text: str) -> Logged:
    sha, author, email, at, message = text.strip("\n").split(_FIELD)
    return Logged(sha, author, email, message.rstrip("\n"), at)


def _state(codes: str, name: str, before: str = "") -> FileState:
    staging, worktree = (_STATES.get(code.replace(".", " "), "Modified") for code in codes)
    return FileState(name, staging, worktree, before)


def _refuse(complaint: str) -> None:
    text = complaint.removeprefix("fatal: ").removeprefix("error: ")
    if "not a git repository" in text or "did not match any file" in text or "does not exist" in text:
        raise NotFound(text)
    if "already exists" in text or "rejected" in text or "declined" in text:
        raise Conflict(text)
    raise BadRequest(text)
