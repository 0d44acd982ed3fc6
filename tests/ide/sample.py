"""A small world for the IDE: one repository with a history, a protected branch, issues, and who works on it."""

import os
import subprocess
from pathlib import Path

import sqlalchemy as sa

from services.ide.rows import RepositoryId
from services.ide.tables import issues, protections, schema, users, workflows
from services.ide.workspace.local_repository import LocalRepository
from services.kernel.statements import Row
from services.kernel.template import WorldMeta, build

NOW_MS = 1_760_000_000_000
DAY_MS = 86_400_000
MONEY = '''"""Amounts in cents."""

from decimal import ROUND_HALF_EVEN, Decimal


def parse(text: str) -> int:
    """Cents of a text such as "1,234.50"."""
    return int((Decimal(text.replace(",", "")) * 100).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


def split(cents: int, parts: int) -> list[int]:
    """Shares that differ by at most one cent and add up; the first ones are the larger."""
    if parts < 1:
        raise ValueError("parts must be positive")
    share, rest = divmod(cents, parts)
    return [share + 1] * rest + [share] * (parts - rest)


def discount(cents: int, percent: int) -> int:
    """What is left after a discount, rounded down."""
    if not 0 <= percent <= 100:
        raise ValueError("percent must be between 0 and 100")
    return cents * (100 - percent) // 100
'''
BROKEN_MONEY = MONEY.replace(
    "[share + 1] * rest + [share] * (parts - rest)", "[share] * (parts - rest) + [share + 1] * rest"
).replace("0 <= percent <= 100", "0 <= percent < 100")
TESTS = """from ledger.money import discount, parse, split


def test_a_text_becomes_cents():
    assert parse("1,234.50") == 123450


def test_shares_add_up():
    assert sum(split(1000, 3)) == 1000


def test_an_even_split_has_equal_shares():
    assert split(900, 3) == [300, 300, 300]


def test_ten_percent_off():
    assert discount(1000, 10) == 900
"""
FIRST = {
    "README.md": "# ledger\n\nAmounts, shares and discounts.\n",
    "pyproject.toml": '[project]\nname = "ledger"\nversion = "1.4.0"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
    "src/ledger/__init__.py": '"""The ledger."""\n',
    "src/ledger/money.py": MONEY.split("\n\ndef discount", maxsplit=1)[0] + "\n",
}
SECOND = {"src/ledger/money.py": MONEY, "tests/test_money.py": TESTS}


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", at=NOW_MS - 60 * DAY_MS)
    for content, message, days in (
        (FIRST, "Amounts and shares", 60),
        (SECOND, "Discounts, and tests for all of it", 9),
    ):
        for path, text in content.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        git(folder, "add", "-A", at=NOW_MS)
        git(folder, "commit", "-q", "-m", message, at=NOW_MS - days * DAY_MS)
    return folder


def git(folder: Path, *arguments: str, at: int) -> str:
    who = ["-c", "user.name=Ines Okafor", "-c", "user.email=ines@tallyport.io"]
    dated = {"GIT_AUTHOR_DATE": f"{at // 1000} +0000", "GIT_COMMITTER_DATE": f"{at // 1000} +0000"}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **dated}
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout


def rows(folder: Path) -> list[tuple[sa.Table, list[Row]]]:
    source = LocalRepository(
        id=RepositoryId(1),
        owner="tallyport",
        name="ledger",
        description="Amounts, shares and discounts",
        folder=repository(folder / "ledger"),
        created_at=NOW_MS - 60 * DAY_MS,
        pushed_at=NOW_MS - 9 * DAY_MS,
        host="code.tallyport.io",
    )
    people = [
        {"id": 1, "login": "dana", "name": "Dana Reyes", "email": "dana@tallyport.io", "is_me": 1},
        {"id": 2, "login": "ines", "name": "Ines Okafor", "email": "ines@tallyport.io", "is_me": 0},
    ]
    issue = {
        "id": 1,
        "repository_id": 1,
        "number": 1,
        "title": "Odd cents go to the last shares",
        "body": "An invoice of 10.00 in three shares starts with 3.33.",
        "state": "open",
        "state_reason": None,
        "author": "ines",
        "assignees": ["dana"],
        "labels": ["bug"],
        "is_pull": 0,
        "created_at": NOW_MS - DAY_MS,
        "updated_at": NOW_MS - DAY_MS,
        "closed_at": None,
    }
    rule = {"id": "1:main", "repository_id": 1, "branch": "main", "required_reviews": 0, "required_checks": ["tests"]}
    workflow = {"id": 1, "repository_id": 1, "name": "tests", "command": "python -m pytest -q -p no:cacheprovider"}
    return [*source.rows(), (users, people), (issues, [issue]), (protections, [rule]), (workflows, [workflow])]


def build_sample(folder: Path, name: str = "small") -> Path:
    path = folder / "worlds" / f"ide-{name}.sqlite"
    counters = {"issue": 1, "number:1": 1}
    build(path, schema, WorldMeta("ide", name, 1, NOW_MS, counters), rows(folder))
    return path
