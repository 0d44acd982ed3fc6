"""Rows of a repository, made from a local git repository: for builders of worlds."""

import base64
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from services.ide.code_host.git_server import ref_id
from services.ide.rows import FileRow, HistoryRow, RefRow, RepositoryId, RepositoryRow
from services.ide.tables import files, histories, refs, repositories
from services.ide.workspace.files import make_file_row

_Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LocalRepository:
    """A repository as the code host is to show it, and the folder that holds its history."""

    id: RepositoryId
    owner: str
    name: str
    description: str
    folder: Path
    created_at: int
    pushed_at: int
    host: str
    default_branch: str = "main"

    @property
    def ssh_url(self) -> str:
        return f"git@{self.host}:{self.owner}/{self.name}.git"

    def rows(self) -> Iterator[tuple[sa.Table, _Rows]]:
        """The repository, its history, its branches and tags, and the files of its default branch."""
        repository: RepositoryRow = {
            "id": self.id,
            "owner": self.owner,
            "name": self.name,
            "description": self.description,
            "default_branch": self.default_branch,
            "ssh_url": self.ssh_url,
            "created_at": self.created_at,
            "pushed_at": self.pushed_at,
        }
        history: HistoryRow = {"id": self.id, "bundle": base64.b64encode(self._bundle()).decode()}
        yield repositories, [repository]
        yield histories, [history]
        yield refs, list(self._refs())
        yield files, list(self._files())

    def _bundle(self) -> bytes:
        """With one thread: with more, the bytes of a pack depend on the machine."""
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "bundle"
            self._git("-c", "pack.threads=1", "bundle", "create", "-q", str(target), "--branches", "--tags")
            return target.read_bytes()

    def _refs(self) -> Iterator[RefRow]:
        listing = self._git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").decode()
        for line in listing.splitlines():
            sha, _, name = line.partition(" ")
            yield {"id": ref_id(self.id, name), "repository_id": self.id, "name": name, "sha": sha}

    def _files(self) -> Iterator[FileRow]:
        listing = self._git("ls-tree", "-r", "-z", "--full-tree", self.default_branch).decode()
        entries = [entry.partition("\t") for entry in listing.split("\0") if entry]
        wanted = "".join(attributes.split(" ")[2] + "\n" for attributes, _, _ in entries)
        contents = self._git("cat-file", "--batch", stdin=wanted.encode())
        position = 0
        for attributes, _, path in entries:
            start = contents.index(b"\n", position) + 1
            end = start + int(contents[position:start].split()[2])
            yield make_file_row(f"{self.name}/{path}", int(attributes.split(" ")[0], 8), contents[start:end])
            position = end + 1

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Without the builder's own settings: a world must not depend on who builds it."""
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8"}
        command = ["git", "-c", "safe.directory=*", *arguments]
        result = subprocess.run(command, cwd=self.folder, env=env, input=stdin, check=True, capture_output=True)  # noqa: S603 - our own repository
        return result.stdout
