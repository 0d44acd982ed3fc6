"""The git server: the code host's repositories in a sandbox of their own, and git commands on them."""

import base64
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

from services.ide.errors import NotFound, Unprocessable, explain_guest
from services.ide.rows import ProtectionRow, RefId, RepositoryId, RepositoryRow
from services.ide.sandbox.image import Image, ImageEntry
from services.ide.sandbox.sandbox import GuestRefused, ProcessResult, Sandbox
from services.ide.sandbox.system_files import HOME

ROOT = f"{HOME}/repositories"
_SECONDS = 60.0
_FETCH, _PUSH = "git-upload-pack", "git-receive-pack"
# Commands that leave every branch and tag where it is.
_READ_ONLY = frozenset(
    {"archive", "cat-file", "diff", "grep", "log", "ls-tree", "merge-base", "merge-tree", "rev-parse"}
)
_RECORD_END, _FIELD_END = "\x1e", "\x1f"
_LOG_FORMAT = _FIELD_END.join(("%H", "%T", "%P", "%an", "%ae", "%at", "%cn", "%ce", "%ct", "%B")) + _RECORD_END
_LIST_REFS = (
    'for at do git --git-dir="$at" for-each-ref --format="%(objectname) %(refname)" refs/heads refs/tags; '
    f"printf '{_RECORD_END}'; done"
)
_PRE_RECEIVE_HOOK = """#!/bin/sh
while read old new ref; do
  branch=${ref#refs/heads/}
  if grep -qxF -- "$branch" "$GIT_DIR/protected" 2>/dev/null; then
    echo "error: GH006: Protected branch update failed for $ref." >&2
    echo "error: Changes must be made through a pull request." >&2
    exit 1
  fi
done
"""

MergeMethod = Literal["merge", "squash", "rebase"]
ChangeStatus = Literal["added", "modified", "removed", "renamed", "copied", "changed"]
_STATUSES: dict[str, ChangeStatus] = {
    "A": "added",
    "M": "modified",
    "D": "removed",
    "R": "renamed",
    "C": "copied",
    "T": "changed",
}


class Author(NamedTuple):
    """Who commits."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as `git log` prints it."""

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

    @classmethod
    def parse(cls, text: str) -> "Commit":
        fields = text.strip("\n").split(_FIELD_END)
        sha, tree, parents, author, author_email, authored, committer, committer_email, committed, message = fields
        return cls(
            sha=sha,
            tree=tree,
            parents=tuple(parents.split()),
            author=author,
            author_email=author_email,
            authored_at=int(authored) * 1000,
            committer=committer,
            committer_email=committer_email,
            committed_at=int(committed) * 1000,
            message=message.rstrip("\n"),
        )


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file between two commits; `before` is its old path, where it was renamed or copied."""

    path: str
    before: str | None
    status: ChangeStatus
    additions: int
    deletions: int
    sha: str
    patch: str | None


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One name in a tree."""

    path: str
    mode: str
    kind: str
    sha: str
    size: int


class GitServer:
    """Runs git in the one sandbox that holds the repositories."""

    def __init__(self, sandbox: Sandbox, repositories: Sequence[RepositoryRow]) -> None:
        self.sandbox = sandbox
        # owner/name → folder.
        self._folders = {f"{row['owner']}/{row['name']}": folder_of(row) for row in repositories}
        # Where branches and tags stood before anybody worked, where that is not what the world's rows say.
        self.planted_refs: dict[RefId, str] = {}
        # Folders that were written to since somebody last asked, and those that are being written to.
        self._written: set[str] = set()
        self._being_written: Counter[str] = Counter()

    async def install_hooks(self, repositories: Sequence[RepositoryRow], protections: Sequence[ProtectionRow]) -> None:
        entries: list[ImageEntry] = []
        for repository in repositories:
            folder = f"{repository['owner']}/{repository['name']}.git"
            branches = [row["branch"] for row in protections if row["repository_id"] == repository["id"]]
            listing = "".join(f"{name}\n" for name in branches).encode()
            entries.append(ImageEntry(f"{folder}/protected", 0o100644, listing))
            entries.append(ImageEntry(f"{folder}/hooks/pre-receive", 0o100755, _PRE_RECEIVE_HOOK.encode()))
        await Image.of(entries).lay_out(self.sandbox, ROOT)

    # --- which repositories were written to ---------------------------------------------------------------------

    def take_written(self, repositories: Sequence[RepositoryRow]) -> list[RepositoryRow]:
        """Those whose branches and tags may have moved since the last call."""
        folders = self._written | set(+self._being_written)
        self._written = set()
        return [repository for repository in repositories if folder_of(repository) in folders]

    @contextmanager
    def _writing(self, folders: Collection[str]) -> Iterator[None]:
        self._being_written.update(folders)
        try:
            yield
        finally:
            self._finish_writing(folders)

    def _finish_writing(self, folders: Collection[str]) -> None:
        self._being_written.subtract(folders)
        self._written.update(folders)

    # --- reading ------------------------------------------------------------------------------------------------

    async def git(self, repository: RepositoryRow, *arguments: str) -> ProcessResult:
        folder = folder_of(repository)
        with self._writing(() if arguments[0] in _READ_ONLY else (folder,)):
            try:
                return await self.sandbox.run(["git", *arguments], cwd=folder, seconds=_SECONDS)
            except GuestRefused as refused:
                # No program can be given a name with a NUL or half a character in it, nor one without end.
                raise explain_guest(refused) from refused

    async def refs(self, repository: RepositoryRow) -> dict[str, str]:
        return (await self.refs_of_each([repository]))[0]

    async def refs_of_each(self, repositories: Sequence[RepositoryRow]) -> list[dict[str, str]]:
        """Branches and tags of each repository, and the commits that they name; read with one program."""
        if not repositories:
            return []
        argv = ["/bin/sh", "-c", _LIST_REFS, "sh", *map(folder_of, repositories)]
        blocks = (await self.sandbox.run(argv, seconds=_SECONDS)).text.split(_RECORD_END)
        lines = [[line.partition(" ") for line in block.split("\n") if line] for block in blocks]
        return [{name: sha for sha, _, name in block} for block in lines[: len(repositories)]]

    async def refs_by_id(self, repositories: Sequence[RepositoryRow]) -> dict[RefId, str]:
        """The commit of every branch and tag, by the id of its row."""
        return {
            ref_id(repository["id"], name): sha
            for repository, refs in zip(repositories, await self.refs_of_each(repositories), strict=True)
            for name, sha in refs.items()
        }

    async def resolve(self, repository: RepositoryRow, name: str) -> str:
        """The commit that a branch, tag or hash names."""
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", name):
            arguments = ["rev-parse", "-q", "--verify", "--end-of-options", candidate + "^{commit}"]
            result = await self.git(repository, *arguments)
            if result.exit_code == 0:
                return result.text.strip()
        raise NotFound(f"No commit found for the ref {name}")

    async def has_branch(self, repository: RepositoryRow, name: str) -> bool:
        return f"refs/heads/{name}" in await self.refs(repository)

    async def log(self, repository: RepositoryRow, *arguments: str) -> list[Commit]:
        result = await self.git(repository, "log", f"--format={_LOG_FORMAT}", *arguments)
        return [Commit.parse(text) for text in result.text.split(_RECORD_END) if text.strip()]

    async def commit(self, repository: RepositoryRow, sha: str) -> Commit:
        return (await self.log(repository, "-1", sha))[0]

    async def changes(self, repository: RepositoryRow, base: str, head: str) -> list[FileChange]:
        """Files that differ between two commits."""
        raw = await self.git(repository, "diff", "--raw", "-z", "--abbrev=40", "-M", base, head)
        counts = await self.git(repository, "diff", "--numstat", "-z", "-M", base, head)
        patch = await self.git(repository, "diff", "-M", base, head)
        return _parse_changes(raw.text, _parse_counts(counts.text), patch.text)

    async def entries(self, repository: RepositoryRow, sha: str, path: str) -> list[TreeEntry]:
        """One entry of that path for a file, the folder's own entries for a folder."""
        folder = path.strip("/")
        entries = await self._list_tree(repository, sha, folder) if folder else []
        if folder and not entries:
            raise NotFound
        if entries and entries[0].kind != "tree":
            return entries
        return await self._list_tree(repository, sha, f"{folder}/" if folder else "")

    async def _list_tree(self, repository: RepositoryRow, sha: str, path: str) -> list[TreeEntry]:
        arguments = ["ls-tree", "-z", "-l", "--full-tree", sha]
        result = await self.git(repository, *arguments, *(["--", path] if path else []))
        lines = filter(None, result.stdout.decode(errors="surrogateescape").split("\0"))
        return [_parse_tree_entry(line) for line in lines]

    async def blob(self, repository: RepositoryRow, sha: str) -> bytes:
        return (await self.git(repository, "cat-file", "blob", sha)).stdout

    async def archive(self, repository: RepositoryRow, sha: str) -> bytes:
        return (await self.git(repository, "archive", "--format=tar", sha)).stdout

    async def is_mergeable(self, repository: RepositoryRow, base: str, head: str) -> bool:
        return (await self.git(repository, "merge-tree", "--write-tree", base, head)).exit_code == 0

    # --- writing ------------------------------------------------------------------------------------------------

    async def put_file(
        self,
        repository: RepositoryRow,
        branch: str,
        path: str,
        content: bytes | None,
        message: str,
        author: Author,
        now_ms: int,
    ) -> str:
        """Write a file in one commit, or remove it where there is no content; returns the commit."""
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
        result = await self._run_script(repository, script, author, now_ms, stdin)
        if result.exit_code:
            raise Unprocessable("Content", result.error_text.strip() or "path is invalid", "path")
        return result.text.strip()

    async def merge(
        self,
        repository: RepositoryRow,
        base: str,
        head: str,
        method: MergeMethod,
        message: str,
        author: Author,
        now_ms: int,
    ) -> str | None:
        """The new tip of `base`, or None where the two cannot be joined."""
        parents = "-p $b -p $h" if method == "merge" else "-p $b"
        script = (
            f"b=$(git rev-parse refs/heads/{shlex.quote(base)}); h={shlex.quote(head)}; "
            "git merge-tree --write-tree $b $h > /tmp/merged || exit 3; t=$(head -1 /tmp/merged); "
            + ("git merge-base --is-ancestor $b $h && c=$h; " if method == "rebase" else "")
            + f"c=${{c:-$(git commit-tree $t {parents} -m {shlex.quote(message)})}}; "
            f"git update-ref refs/heads/{shlex.quote(base)} $c $b && echo $c"
        )
        result = await self._run_script(repository, script, author, now_ms)
        return None if result.exit_code else result.text.strip()

    async def _run_script(
        self, repository: RepositoryRow, script: str, author: Author, now_ms: int, stdin: bytes = b""
    ) -> ProcessResult:
        env = {
            "GIT_AUTHOR_NAME": author.name,
            "GIT_AUTHOR_EMAIL": author.email,
            "GIT_COMMITTER_NAME": author.name,
            "GIT_COMMITTER_EMAIL": author.email,
        }
        argv = ["/bin/sh", "-c", script]
        folder = folder_of(repository)
        with self._writing((folder,)):
            return await self.sandbox.run(argv, cwd=folder, seconds=_SECONDS, stdin=stdin, env=env, now_ms=now_ms)

    async def serve_http(self, environment: Mapping[str, str], body: bytes, now_ms: int) -> ProcessResult:
        """git's own HTTP service, called as a web server would call it."""
        env = {**environment, "GIT_PROJECT_ROOT": ROOT, "GIT_HTTP_EXPORT_ALL": "1"}
        # Which of them it writes to, if any, git alone reads from the request.
        with self._writing(tuple(self._folders.values())):
            return await self.sandbox.run(["git", "http-backend"], seconds=_SECONDS, stdin=body, env=env, now_ms=now_ms)

    def join(self, client: Sandbox, number: int, command: str, now_ms: int) -> None:
        """Be the other end of a git that runs in the client's sandbox; any other command gets no answer."""
        words = shlex.split(command) if "'" in command else command.split()
        folder = self._folders.get(words[1].strip("/").removesuffix(".git")) if len(words) == 2 else None
        if folder is None or words[0] not in (_FETCH, _PUSH):
            client.write_stream(number, None)
            client.close_stream(number)
            return
        roots = (folder,) if words[0] == _PUSH else ()

        def on_server_output(content: bytes | None) -> None:
            if content is None:
                self._finish_writing(roots)
            if client.end_reason is None:
                client.write_stream(number, content)
            if content is None:
                self.sandbox.close_stream(own_number)

        def on_client_output(content: bytes | None) -> None:
            if self.sandbox.end_reason is None:
                self.sandbox.write_stream(own_number, content)

        self._being_written.update(roots)
        own_number = self.sandbox.open_stream([words[0], folder], on_server_output, now=now_ms)
        client.set_stream_handler(number, on_client_output)


def folder_of(repository: RepositoryRow) -> str:
    return f"{ROOT}/{repository['owner']}/{repository['name']}.git"


def ref_id(repository: RepositoryId, name: str) -> RefId:
    return RefId(f"{repository}:{name}")


def _parse_tree_entry(line: str) -> TreeEntry:
    attributes, _, name = line.partition("\t")
    mode, kind, sha, size = attributes.split()
    return TreeEntry(name, mode, kind, sha, 0 if size == "-" else int(size))


def _parse_changes(raw: str, counts: Mapping[str, tuple[int, int]], patch: str) -> list[FileChange]:
    """From three outputs of `git diff`: what changed, how many lines, and the patches, in the same order."""
    patches = [part.partition("\n@@")[1:] for part in patch.split("diff --git ")[1:]]
    fields = iter(raw.split("\0"))
    changes: list[FileChange] = []
    for attributes in filter(None, fields):
        *_, sha, status = attributes.split(" ")
        first = next(fields)
        is_move = status[0] in "RC"
        path = next(fields) if is_move else first
        additions, deletions = counts.get(path, (0, 0))
        marker, body = patches[len(changes)] if len(changes) < len(patches) else ("", "")
        changes.append(
            FileChange(
                path=path,
                before=first if is_move else None,
                status=_STATUSES.get(status[0], "changed"),
                additions=additions,
                deletions=deletions,
                sha=sha,
                patch=(marker + body).lstrip("\n").rstrip("\n") if marker else None,
            )
        )
    return changes


def _parse_counts(text: str) -> dict[str, tuple[int, int]]:
    fields = iter(text.split("\0"))
    counts: dict[str, tuple[int, int]] = {}
    for line in filter(None, fields):
        added, deleted, path = line.split("\t", 2)
        if not path:
            next(fields)
            path = next(fields)
        counts[path] = (_count(added), _count(deleted))
    return counts


def _count(text: str) -> int:
    """`-` stands for a binary file."""
    return int(text) if text.isdigit() else 0


def sum_lines(changes: Iterable[FileChange]) -> tuple[int, int]:
    """(additions, deletions) of all files together."""
    listed = list(changes)
    return sum(change.additions for change in listed), sum(change.deletions for change in listed)
