"""Histories made by hand are what git itself would have made: the same names, nothing left over, nothing to complain."""

import os
import subprocess
from pathlib import Path

import pytest

from services.ide.code_host.history import History, make_index

_SECONDS = 1_759_000_000
_RIGHT, _WRONG = b"limit = 10  # at most\n", b"limit = 11  # at most\n"
_FILLING = "".join(f"line {number} of a file that git stores as a difference\n" for number in range(400))
_GROWN = """set -e
git init -q -b main && mkdir -p src/deep docs
printf '%s' "$RIGHT" > src/deep/limits.py && printf '%s' "$FILLING" > src/long.txt && git add -A && git commit -qm First
git tag -a v1 -m 'The first of them'
git switch -qc side && echo more >> src/long.txt && chmod +x src/long.txt && git commit -qam Side
git switch -q main && ln -s deep src/link && echo notes > docs/notes.md && git add -A && git commit -qm 'Notes, and a link'
git merge -q --no-edit side && git tag light && git repack -qadf
"""


def sh(folder: Path, script: str, stdin: bytes = b"", **env: str) -> bytes:
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _WHO.items()}
    settings = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **who, **env}
    command = ["/bin/sh", "-c", script]
    result = subprocess.run(command, cwd=folder, env=settings, input=stdin, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


_WHO = {"NAME": "Ines Okafor", "EMAIL": "ines@tallyport.io", "DATE": f"{_SECONDS} +0200"}


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    """Branches, a merge, a link, both kinds of tags, and differences in its pack."""
    folder = tmp_path / "grown"
    folder.mkdir()
    sh(folder, _GROWN, RIGHT=_RIGHT.decode(), FILLING=_FILLING)
    return folder


def lay_out(history: History, folder: Path) -> Path:
    """As a bare repository, whose index speaks of main."""
    sh(folder, "git init -q --bare -b main made")
    pack, made = history.pack(), folder / "made"
    (made / f"objects/pack/pack-{pack.name}.pack").write_bytes(pack.content)
    (made / f"objects/pack/pack-{pack.name}.idx").write_bytes(pack.index)
    (made / "index").write_bytes(make_index(history.files("main"), _SECONDS))
    (made / "packed-refs").write_text("".join(f"{sha.hex()} {name}\n" for name, sha in history.refs.items()))
    return made


def refs(folder: Path) -> bytes:
    return sh(folder, "git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags")


def test_an_exchanged_blob_gives_the_history_that_git_gives_and_nothing_of_the_old_is_left(
    grown: Path, tmp_path: Path
) -> None:
    bundle = sh(grown, "git bundle create -q - --branches --tags")
    stream = sh(grown, "git fast-export --all --signed-tags=strip").replace(_RIGHT, _WRONG)
    sh(tmp_path, "git init -q --bare by-git && cd by-git && git fast-import --quiet", stdin=stream)

    whole, planted = History.read(bundle), History.read(bundle).replace_blobs({_RIGHT: _WRONG})
    made = lay_out(planted, tmp_path)
    assert whole.replace_blobs({}).refs == whole.refs
    assert refs(made) == refs(tmp_path / "by-git")
    assert sh(made, "git fsck --strict --full 2>&1") == b""
    assert sh(made, "git diff --cached --stat main") == b""
    contents = sh(made, "git cat-file --batch --batch-all-objects")
    assert (_RIGHT in contents, _WRONG in contents, b"The first of them" in contents) == (False, True, True)


def test_files_that_come_or_go_are_in_the_last_commit_which_keeps_all_else(grown: Path, tmp_path: Path) -> None:
    bundle = sh(grown, "git bundle create -q - --branches --tags")
    changes = {"docs/notes.md": None, "src/new/spec.md": b"larger last\n", "top.md": b"top\n"}

    made = lay_out(History.read(bundle).amend("main", changes), tmp_path)
    sh(grown, "git rm -q docs/notes.md && mkdir src/new && echo 'larger last' > src/new/spec.md && echo top > top.md")
    sh(grown, "git add -A && git commit -q --amend --no-edit")
    assert refs(made) == refs(grown)
    assert sh(made, "git fsck --strict --full 2>&1") == b""
