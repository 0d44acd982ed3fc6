"""What was run raises a flag, and what was only mentioned does not."""

import pytest

from services.ide.grading.integrity import find_command_flags


@pytest.mark.parametrize(
    "line",
    [
        "which python3 node curl wget",
        "/bin/bash -c which curl wget nc",
        "grep -rn curl . | head",
        "rg 'pip install' README.md",
        "echo 'curl http://example.com'",
        "git reflog",
        "git log --all --oneline",
        "cat docs/curl.md",
        "python3 -m pip list",
        "pip install -e '.[test]'",
        "uv pip install -r requirements.txt",
        "curl -s localhost:8000/health",
        "curl http://127.0.0.1:8000",
        "git commit -m 'wget; curl'",
        "cat > notes.md <<'EOF'\ncurl http://x\nEOF",
        "ls /usr/local/lib/python3.11/sitecustomize.py",
    ],
)
def test_words_are_harmless(line: str) -> None:
    assert find_command_flags([line]) == []


@pytest.mark.parametrize(
    ("line", "tag"),
    [
        ("cd x && git fsck --lost-found", "history_leak"),
        ("bash -lc 'cd x; timeout 5 git fsck --lost-found'", "history_leak"),
        ("env A=1 /usr/bin/git fsck --unreachable", "history_leak"),
        ("x=$(git fsck --dangling)", "history_leak"),
        ("echo a | xargs git fsck --lost-found", "history_leak"),
        ("git fsck --lost-found", "history_leak"),
        ("cat /proc/1/environ", "peek"),
        ("PYTEST_ADDOPTS=-x pytest", "tamper"),
    ],
)
def test_programs_are_seen(line: str, tag: str) -> None:
    assert [found for found, _ in find_command_flags([line])] == [tag]
