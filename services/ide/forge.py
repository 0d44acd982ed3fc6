"""The forge: the code host's repositories in a sandbox of their own, and git's own verbs on them."""

import base64
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from services.ide.errors import NotFound, Unprocessable
from services.ide.images import FORGE, Beginning, Image, Listed
from services.ide.sandbox import Ran, Sandbox
from services.kernel.statements import Row

_SECONDS = 60.0
_FETCH, _PUSH = "git-upload-pack", "git-receive-pack"
# Verbs that leave every branch and tag where it is.
_READING = frozenset({"archive", "cat-file", "diff", "grep", "log", "ls-tree", "merge-base", "merge-tree", "rev-parse"})
_BREAK, _FIELD = "\x1e", "\x1f"
_LOG = _FIELD.join(("%H", "%T", "%P", "%an", "%ae", "%at", "%cn", "%ce", "%ct", "%B")) + _BREAK
_STANDING = (
    'for at do git --git-dir="$at" for-each-ref --format="%(objectname) %(refname)" refs/heads refs/tags; '
    f"printf '{_BREAK}'; done"
)
_HOOK = """#!/bin/sh
while read old new ref; do
  branch=${ref#refs/heads/}
  if grep -qxF -- "$branch" "$GIT_DIR/protected" 2>/dev/null; then
    echo "error: GH006: Protected branch update failed for $ref." >&2
    echo "error: Changes must be made through a pull request." >&2
    exit 1
  fi
done
"""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as its log line has it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    author_email: str
    authored_at: int
    committer: str
    committer_email: str
    committed_at: int
    message: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file between two commits."""

    path: str
    before: str | None
    status: str
    additions: int
    deletions: int
    sha: str
    patch: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a tree."""

    path: str
    mode: str
    kind: str
    sha: str
    size: int


class Forge:
    """git, asked in the one place that has the repositories."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._where: dict[str, str] = {}
        # Where branches and tags stood before anybody worked, where that is not what the world's rows say.
        self.at_first: dict[str, str] = {}
        # Repositories that were written to since somebody last asked, and those that are being written to.
        self._written: set[str] = set()
        self._writing: Counter[str] = Counter()

    async def found(self, beginning: Beginning, repositories: Sequence[Row], protections: Sequence[Row]) -> None:
        await beginning.lay_out_forge(self.sandbox)
        guards: list[Listed] = []
        for repository in repositories:
            where = f"{repository['owner']}/{repository['name']}"
            self._where[where] = place(repository)
            kept = [one["branch"] for one in protections if one["repository_id"] == repository["id"]]
            guards.append((f"{where}.git/protected", 0o100644, "".join(f"{name}\n" for name in kept).encode(), 0))
            guards.append((f"{where}.git/hooks/pre-receive", 0o100755, _HOOK.encode(), 0))
        await Image.of(guards).lay_out(self.sandbox, FORGE)

    async def git(
        self,
        repository: Row,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        now_ms: int = 0,
    ) -> Ran:
        argv = ["git", *arguments]
        where = place(repository)
        with self._while_writing(() if arguments[0] in _READING else (where,)):
            return await self.sandbox.run(argv, cwd=where, seconds=_SECONDS, stdin=stdin, env=env, now_ms=now_ms)

    def moved(self, repositories: Sequence[Row]) -> list[Row]:
        """Those whose branches and tags may stand elsewhere than when this was last asked."""
        where = self._written | set(+self._writing)
        self._written = set()
        return [repository for repository in repositories if place(repository) in where]

    @contextmanager
    def _while_writing(self, places: Sequence[str]) -> Iterator[None]:
        self._writing.update(places)
        try:
            yield
        finally:
            self._done_writing(places)

    def _done_writing(self, places: Sequence[str]) -> None:
        self._writing.subtract(places)
        self._written.update(places)

    async def refs(self, repository: Row) -> dict[str, str]:
        return (await self.standing([repository]))[0]

    async def standing(self, repositories: Sequence[Row]) -> list[dict[str, str]]:
        """Branches and tags of each, and the commits that they mean; asked for in one go."""
        if not repositories:
            return []
        argv = ["/bin/sh", "-c", _STANDING, "sh", *map(place, repositories)]
        listed = (await self.sandbox.run(argv, seconds=_SECONDS)).text.split(_BREAK)
        blocks = [[line.partition(" ") for line in block.split("\n") if line] for block in listed]
        return [{name: sha for sha, _, name in lines} for lines in blocks[: len(repositories)]]

    async def resolve(self, repository: Row, name: str) -> str:
        """The commit that a branch, tag or hash means."""
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", name):
            asked = ["rev-parse", "-q", "--verify", "--end-of-options", candidate + "^{commit}"]
            ran = await self.git(repository, *asked)
            if ran.exit == 0:
                return ran.text.strip()
        raise NotFound(f"No commit found for the ref {name}")

    async def has_branch(self, repository: Row, name: str) -> bool:
        return f"refs/heads/{name}" in await self.refs(repository)

    async def log(self, repository: Row, *which: str) -> list[Commit]:
        ran = await self.git(repository, "log", f"--format={_LOG}", *which)
        return [_commit(text) for text in ran.text.split(_BREAK) if text.strip()]

    async def commit(self, repository: Row, sha: str) -> Commit:
        return (await self.log(repository, "-1", sha))[0]

    async def changes(self, repository: Row, base: str, head: str) -> list[FileChange]:
        return await _changes(self, repository, base, head)

    async def entries(self, repository: Row, sha: str, path: str) -> list[Entry]:
        """What stands at a path: one entry of that path for a file, the folder's own for a folder."""
        wanted = path.strip("/")
        listed = [entry async for entry in self._listed(repository, sha, wanted)] if wanted else []
        if wanted and not listed:
            raise NotFound
        if listed and listed[0].kind != "tree":
            return listed
        return [entry async for entry in self._listed(repository, sha, f"{wanted}/" if wanted else "")]

    async def _listed(self, repository: Row, sha: str, path: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - an async generator of Entry
        arguments = ["ls-tree", "-z", "-l", "--full-tree", sha]
        ran = await self.git(repository, *arguments, *(["--", path] if path else []))
        for line in filter(None, ran.stdout.decode(errors="surrogateescape").split("\0")):
            about, _, name = line.partition("\t")
            mode, kind, found, size = about.split()
            yield Entry(name, mode, kind, found, 0 if size == "-" else int(size))

    async def blob(self, repository: Row, sha: str) -> bytes:
        return (await self.git(repository, "cat-file", "blob", sha)).stdout

    async def put_file(
        self,
        repository: Row,
        branch: str,
        path: str,
        content: bytes | None,
        message: str,
        author: Mapping[str, str],
        now_ms: int,
    ) -> str:
        """One commit that writes a file, or removes it where there is no content."""
        if content is None:
            gone = "0 " + "0" * 40
            edit = f"printf '%s\\t%s\\0' '{gone}' {shlex.quote(path)} | git update-index -z --index-info"
        else:
            blob = "$(base64 -d | git hash-object -w --stdin)"
            edit = f"git update-index --add --cacheinfo 100644,{blob},{shlex.quote(path)}"
        script = (
            f"set -e; export GIT_INDEX_FILE=$(mktemp -u); git read-tree {shlex.quote(branch)}; {edit}; "
            f"c=$(git commit-tree $(git write-tree) -p {shlex.quote(branch)} -m {shlex.quote(message)}); "
            f"git update-ref refs/heads/{shlex.quote(branch)} $c; rm -f $GIT_INDEX_FILE; echo $c"
        )
        stdin = base64.b64encode(content) if content is not None else b""
        ran = await self._script(repository, script, author, now_ms, stdin)
        if ran.exit:
            raise Unprocessable("Content", ran.complaint.strip() or "path is invalid", "path")
        return ran.text.strip()

    async def merge(
        self, repository: Row, base: str, head: str, how: str, message: str, author: Mapping[str, str], now_ms: int
    ) -> str | None:
        """The new tip of `base`, or None where the two cannot be joined."""
        parents = "-p $b -p $h" if how == "merge" else "-p $b"
        script = (
            f"b=$(git rev-parse refs/heads/{shlex.quote(base)}); h={shlex.quote(head)}; "
            "git merge-tree --write-tree $b $h > /tmp/merged || exit 3; t=$(head -1 /tmp/merged); "
            + ("git merge-base --is-ancestor $b $h && c=$h; " if how == "rebase" else "")
            + f"c=${{c:-$(git commit-tree $t {parents} -m {shlex.quote(message)})}}; "
            f"git update-ref refs/heads/{shlex.quote(base)} $c $b && echo $c"
        )
        ran = await self._script(repository, script, author, now_ms)
        return None if ran.exit else ran.text.strip()

    async def mergeable(self, repository: Row, base: str, head: str) -> bool:
        return (await self.git(repository, "merge-tree", "--write-tree", base, head)).exit == 0

    async def _script(
        self, repository: Row, script: str, author: Mapping[str, str], now_ms: int, stdin: bytes = b""
    ) -> Ran:
        names = {"GIT_AUTHOR_NAME": author["name"], "GIT_AUTHOR_EMAIL": author["email"]}
        env = {**names, "GIT_COMMITTER_NAME": author["name"], "GIT_COMMITTER_EMAIL": author["email"]}
        argv = ["/bin/sh", "-c", script]
        where = place(repository)
        with self._while_writing((where,)):
            return await self.sandbox.run(argv, cwd=where, seconds=_SECONDS, stdin=stdin, env=env, now_ms=now_ms)

    async def archive(self, repository: Row, sha: str) -> bytes:
        return (await self.git(repository, "archive", "--format=tar", sha)).stdout

    async def backend(self, environment: Mapping[str, str], body: bytes, now_ms: int) -> Ran:
        """git's own HTTP service, as a web server would call it."""
        env = {**environment, "GIT_PROJECT_ROOT": FORGE, "GIT_HTTP_EXPORT_ALL": "1"}
        # Which of them it writes to, if any, git alone reads from what it is told.
        with self._while_writing(tuple(self._where.values())):
            return await self.sandbox.run(["git", "http-backend"], seconds=_SECONDS, stdin=body, env=env, now_ms=now_ms)

    def join(self, machine: Sandbox, number: int, asked: str, now_ms: int) -> None:
        """The other end of a git that runs on the machine; whatever else it asks for gets silence."""
        words = shlex.split(asked) if "'" in asked else asked.split()
        where = self._where.get(words[1].strip("/").removesuffix(".git")) if len(words) == 2 else None
        if where is None or words[0] not in (_FETCH, _PUSH):
            machine.say(number, None)
            machine.let_go(number)
            return
        written = (where,) if words[0] == _PUSH else ()

        def from_forge(content: bytes | None) -> None:
            if content is None:
                self._done_writing(written)
            if machine.over is None:
                machine.say(number, content)
            if content is None:
                self.sandbox.let_go(there)

        def from_machine(content: bytes | None) -> None:
            if self.sandbox.over is None:
                self.sandbox.say(there, content)

        self._writing.update(written)
        there = self.sandbox.pipe([words[0], where], from_forge, now=now_ms)
        machine.hear(number, from_machine)


def place(repository: Row) -> str:
    return f"{FORGE}/{repository['owner']}/{repository['name']}.git"


def _commit(text: str) -> Commit:
    sha, tree, parents, author, email, at, committer, committer_email, committed, message = text.strip("\n").split(
        _FIELD
    )
    return Commit(
        sha=sha,
        tree=tree,
        parents=tuple(parents.split()),
        author=author,
        author_email=email,
        authored_at=int(at) * 1000,
        committer=committer,
        committer_email=committer_email,
        committed_at=int(committed) * 1000,
        message=message.rstrip("\n"),
    )


_STATUS = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}


async def _changes(forge: Forge, repository: Row, base: str, head: str) -> list[FileChange]:
    raw = await forge.git(repository, "diff", "--raw", "-z", "--abbrev=40", "-M", base, head)
    counted = await forge.git(repository, "diff", "--numstat", "-z", "-M", base, head)
    patch = await forge.git(repository, "diff", "-M", base, head)
    patches = [part.partition("\n@@")[1:] for part in patch.text.split("diff --git ")[1:]]
    numbers = _numbers(counted.text)
    fields = iter(raw.text.split("\0"))
    found: list[FileChange] = []
    for about in filter(None, fields):
        *_, sha, status = about.split(" ")
        first = next(fields)
        path = next(fields) if status[0] in "RC" else first
        added, deleted = numbers.get(path, (0, 0))
        marker, body = patches[len(found)] if len(found) < len(patches) else ("", "")
        text = (marker + body).lstrip("\n").rstrip("\n") if marker else None
        before = first if status[0] in "RC" else None
        found.append(FileChange(path, before, _STATUS.get(status[0], "changed"), added, deleted, sha, text))
    return found


def _numbers(text: str) -> dict[str, tuple[int, int]]:
    fields = iter(text.split("\0"))
    found: dict[str, tuple[int, int]] = {}
    for line in filter(None, fields):
        added, deleted, path = line.split("\t", 2)
        if not path:
            next(fields)
            path = next(fields)
        found[path] = (int(added) if added.isdigit() else 0, int(deleted) if deleted.isdigit() else 0)
    return found
