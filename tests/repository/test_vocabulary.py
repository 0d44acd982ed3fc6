"""Names that we have given up do not come back; the words of our own that are left stand in the glossary."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("services", "fixtures", "env_client", "loadtests", "tests", "examples")
# What agents work on is the imitated company's code, with names of its own.
EXCLUDED = (
    "fixtures/codebase/repos",
    "fixtures/codebase/cases",
    "fixtures/codebase/service",
    "fixtures/codebase/service_history",
)

# Given up for: agent API, ProductHost, ReplayCache, TaskBuilder, OpenEpisode, score, Evidence, RelayProcess, …
CLASSES = frozenset(
    [
        "House",
        "HouseBroke",
        "AgentDoor",
        "ControlDoor",
        "Rote",
        "Tape",
        "Deed",
        "Blanks",
        "FarIds",
        "Overheard",
        "Unrepeatable",
        "Strangers",
        "Visitors",
        "Visit",
        "Meanwhile",
        "Soil",
        "Plot",
        "Live",
        "Shift",
        "Patron",
        "Approver",
        "Impression",
        "Lot",
        "Reckoned",
        "Stray",
        "Damage",
        "Seen",
        "Said",
        "Written",
        "Passage",
        "Keyed",
        "Claim",
        "Circumstance",
        "Workshop",
        "Life",
        "Post",
        "Entrance",
        "Dialogue",
        "Stage",
        "Exchange",
        "Outgoing",
        "RecordReads",
        "ActivityReads",
        "CustomerReads",
    ]
)
# Words that are fine elsewhere are given up in one place only: a deal has a stage, a disk has damage.
FUNCTIONS = frozenset(
    [
        "reckon",
        "survey",
        "neatness",
        "wonders",
        "is_so",
        "still_answers",
        "imagined",
        "settle_in",
        "write_due",
        "kept_secret",
        "mint",
        "_dressed",
        "_under",
        "_let_fall_due",
        "_broke",
        "birth",
    ]
)
VARIABLES = frozenset(["lot", "soil", "plot", "rote", "tape", "deed", "patron", "reckoned"])
MODULES = frozenset(
    [
        "agent_door",
        "control_door",
        "door_messages",
        "rote",
        "strangers",
        "visitors",
        "colleagues",
        "tidying",
        "planting",
        "live",
        "damage",
        "suspicions",
        "entries",
        "outward",
        "together",
        "written",
        "passage",
        "newcomers",
        "leaving",
        "endings",
        "aftermath",
        "keeping",
        "ruling",
        "vetting",
        "beginning",
        "cable",
        "gauges",
        "asking",
        "entrance",
        "dialogue",
        "exchange",
        "lots",
    ]
)
# The company has house rules of its own, which agents read.
PROSE = re.compile(r"\b(the house(?! rules)|agent's door|harness's door|HouseBroke)\b", re.IGNORECASE)


def tracked(*suffixes: str) -> list[Path]:
    output = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *CODE, "docs", "*.md", "*.toml", "*.yaml", "*.yml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [name for name in output.stdout.splitlines() if name.endswith(suffixes) and not name.startswith(EXCLUDED)]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text())) for path in tracked(".py") if path != Path(__file__)]


def definitions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The kind and name of everything that a module defines."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name):
                yield "class", name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield "function", name
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield "variable", name


@pytest.mark.parametrize(
    ("kind", "refused"),
    [("class", CLASSES), ("function", FUNCTIONS), ("variable", VARIABLES)],
    ids=lambda value: str(value)[:8],
)
def test_no_name_that_was_given_up_is_defined(kind: str, refused: frozenset[str]) -> None:
    hits = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees()
        for defined, name in definitions(tree)
        if defined == kind and name in refused
    }

    assert hits == set()


def test_no_module_has_a_name_that_was_given_up() -> None:
    hits = {str(path.relative_to(ROOT)) for path, _ in trees() if path.stem.removeprefix("test_") in MODULES}

    assert hits == set()


def test_prose_uses_plain_words() -> None:
    hits = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked(".py", ".md", ".toml", ".yaml", ".yml")
        if path != Path(__file__) and path.name != "CHANGELOG.md"
        for match in PROSE.finditer(path.read_text())
    }

    assert hits == set()


def test_the_glossary_defines_each_word_once() -> None:
    words = re.findall(r"^\| \**([A-Za-z' -]+?)\** \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    words = [word for word in words if word != "word"]

    assert len(set(words)) == len(words) > 20
    assert words == sorted(words, key=str.casefold)
