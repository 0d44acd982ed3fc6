"""What a builder of worlds needs: rows of a repository, from a folder that git knows."""

import base64
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from services.ide.images import file_row
from services.ide.tables import files, histories, refs, repositories
from services.kernel.statements import Row


@dataclass(frozen=True, slots=True)
class Seed:
    """A repository as the code host knows it, and where its history lies now."""

    id: int
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


def rows_of(seed: Seed) -> Iterator[tuple[sa.Table, list[Row]]]:
    """The repository, its history, its branches and tags, and the files of its default branch."""
    about = {"id": seed.id, "owner": seed.owner, "name": seed.name, "description": seed.description}
    dated = {"ssh_url": seed.ssh_url, "created_at": seed.created_at, "pushed_at": seed.pushed_at}
    yield repositories, [{**about, **dated, "default_branch": seed.default_branch}]
    yield histories, [{"id": seed.id, "bundle": base64.b64encode(_bundle(seed)).decode()}]
    yield refs, list(_refs(seed))
    yield files, list(_files(seed))


def _bundle(seed: Seed) -> bytes:
    """One thread: with more, the bytes of a pack depend on the machine."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "bundle"
        _git(seed.folder, "-c", "pack.threads=1", "bundle", "create", "-q", str(target), "--branches", "--tags")
        return target.read_bytes()


def _refs(seed: Seed) -> Iterator[Row]:
    listed = _git(seed.folder, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").decode()
    for line in listed.splitlines():
        sha, _, name = line.partition(" ")
        yield {"id": f"{seed.id}:{name}", "repository_id": seed.id, "name": name, "sha": sha}


def _files(seed: Seed) -> Iterator[Row]:
    listed = _git(seed.folder, "ls-tree", "-r", "-z", "--full-tree", seed.default_branch).decode()
    entries = [entry.partition("\t") for entry in listed.split("\0") if entry]
    wanted = "".join(about.split(" ")[2] + "\n" for about, _, _ in entries)
    contents = _git(seed.folder, "cat-file", "--batch", stdin=wanted.encode())
    at = 0
    for about, _, path in entries:
        start = contents.index(b"\n", at) + 1
        length = int(contents[at:start].split()[2])
        yield file_row(f"{seed.name}/{path}", int(about.split(" ")[0], 8), contents[start : start + length])
        at = start + length + 1


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Without the builder's own settings: a world must not depend on who builds it."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8"}
    command = ["git", "-c", "safe.directory=*", *arguments]
    ran = subprocess.run(command, cwd=folder, env=environment, input=stdin, check=True, capture_output=True)  # noqa: S603 - our own repository
    return ran.stdout
