"""Names that we have given up do not come back; the words of our own that are left stand in the glossary."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
# Names of functions, variables, parameters and attributes; of modules, too, where they are given up as such.
NAMES = frozenset(
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
        "lot",
        "soil",
        "plot",
        "rote",
        "tape",
        "deed",
        "patron",
        "reckoned",
        "_first",
        "meanwhile",
        "stray",
        "visit",
        "visitor",
        "impression",
        "door",
        "doors",
        "machine",
        "machines",
        "workshop",
    ]
)
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
        "life",
        "beside",
        "parts",
        "forms",
    ]
)
# Given up as the name of a module or of one thing, and an everyday word for another.
EVERYDAY = {
    "live": "a stack, a record or an episode that is not over is live",
    "damage": "what the corruptors of fixtures/mess do to a file",
    "written": "values of the row that was written, where there is one",
    "entries": "entries of a directory, of an archive or of a timeline",
    "together": "a batch asks for records together",
    "exchange": "OAuth exchanges a code for a token",
    "endings": "episodes have three endings, as the wire's `ending` says; a report counts them",
    "ruling": "a `Ruling` is what a supervisor decides about a proposed call",
    "forms": "bodies and credentials have forms",
    "parts": "a multipart body and a split text have parts",
    "lots": "an instance is drawn by lot",
    "keeping": "a program that is kept running is in keeping",
    "colleagues": "colleagues are people of the company",
    "beginning": "a `Beginning` is what the ledger writes of an episode when it begins",
    "plot": "the examples draw a plot of a training run",
}
# What docs, docstrings, comments, log lines and texts of errors do not say; code samples of the company are not read.
# The company has house rules of its own, which agents read, and a colleague may do a stray edit or come meanwhile.
PROSE = re.compile(
    r"\b(the house(?! rules)|house broke|HouseBroke|(agent|harness|control|product)('s|s'|s)? doors?|"
    r"neatness|reckon(s|ed|ing)?|overheard|unrepeatable|patrons?|soil|rote|circumstance of a request|"
    r"(the|a) (passage|workshop|shift|lot|deed|tape) of (the|an?) (episode|agent|product|task|instance))\b",
    re.IGNORECASE,
)


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


def classes(tree: ast.Module) -> Iterator[str]:
    return (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def names(tree: ast.Module) -> Iterator[str]:
    """The name of every function, variable, parameter and attribute that a module defines."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
            ):
                yield name


def test_no_class_has_a_name_that_was_given_up() -> None:
    hits = {f"{path.relative_to(ROOT)}: {name}" for path, tree in trees() for name in classes(tree) if name in CLASSES}

    assert hits == set()


def test_no_function_variable_or_attribute_has_a_name_that_was_given_up() -> None:
    refused = (NAMES | MODULES) - EVERYDAY.keys()
    hits = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees()
        for name in names(tree)
        if name in refused or name.lstrip("_") in refused
    }

    assert hits == set()


def test_every_everyday_word_is_still_in_use() -> None:
    used = {name.lstrip("_") for _, tree in trees() for name in names(tree)}

    assert EVERYDAY.keys() - used == set()
    assert EVERYDAY.keys() <= MODULES | NAMES


# Participles that are not regular; the regular ones end in -ed.
PARTICIPLES = frozenset(
    [
        "bound",
        "bought",
        "broken",
        "brought",
        "built",
        "caught",
        "chosen",
        "done",
        "drawn",
        "driven",
        "fallen",
        "forgotten",
        "found",
        "gone",
        "grown",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "put",
        "sent",
        "shown",
        "sold",
        "sought",
        "spent",
        "stood",
        "taken",
        "taught",
        "thought",
        "thrown",
        "told",
        "torn",
        "understood",
        "withheld",
        "written",
    ]
)
VERBS = frozenset(["bleed", "embed", "feed", "need", "proceed", "put", "seed", "shed", "speed"])
# Values that are read like attributes.
VALUES = frozenset(["property", "cached_property", "singledispatchmethod"])
# What may have a participle for its first word; paths are those of a file.
PARTICIPLE_FUNCTIONS = {
    "allowed": "families declare what may change; `allow_…` functions make the permissions",
    "shuffled": "returns another list, as Python's `sorted` does",
    "derived_column": "declares a column, as SQLAlchemy's `mapped_column` does",
    "folded_column": "declares a column, as SQLAlchemy's `mapped_column` does",
}


def is_value(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator).rpartition(".")[2] in VALUES for decorator in function.decorator_list)


def starts_with_a_participle(name: str) -> bool:
    first = name.lstrip("_").partition("_")[0]
    return first in PARTICIPLES - VERBS or (first.endswith("ed") and first not in VERBS)


def participle_functions() -> set[str]:
    return {
        node.name
        for path, tree in trees()
        if path.relative_to(ROOT).parts[0] not in {"tests", "examples"}
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and starts_with_a_participle(node.name)
        and not is_value(node)
    }


def test_functions_are_named_by_verbs_and_not_by_participles() -> None:
    assert participle_functions() == PARTICIPLE_FUNCTIONS.keys()


# A participle says what happened to a thing and not what it is. `one` and `at` say even less.
NO_NOUNS = (PARTICIPLES | {"asked", "begun", "given", "heard", "said", "seen", "wanted", "at", "one"}) - {
    # States of an invoice and of a deal, and the method of HTTP.
    "paid",
    "lost",
    "put",
}
NO_NOUNS_EXCEPT = {
    "hidden": "a field of the vendor's properties and their options",
    "seen": "the public field of StaleRead",
}
# Names that are read at a glance: the line that sets it, and two more.
GLANCE = 2


def span_of_variables(scope: ast.AST) -> dict[str, int]:
    """How many lines lie between the first line that sets a variable and the last one that uses it."""
    stores, lines = dict[str, int](), dict[str, int]()

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name):
                lines[child.id] = max(lines.get(child.id, 0), child.lineno)
                if isinstance(child.ctx, ast.Store):
                    stores[child.id] = min(stores.get(child.id, child.lineno), child.lineno)
            visit(child)

    visit(scope)
    return {name: lines[name] - first for name, first in stores.items()}


def variables() -> Iterator[tuple[str, str]]:
    """The parameters and the longer-lived variables of every function that is not a test's, each with its place."""
    for path, tree in trees():
        if path.relative_to(ROOT).parts[0] == "tests":
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            spans = span_of_variables(node)
            long_lived = [name for name, span in spans.items() if span > GLANCE]
            # `left` is a direction where there is a `right`.
            directions = {"left"} if "right" in {*parameters, *spans} else set()
            for name in {*parameters, *long_lived} - directions:
                yield name.lstrip("_"), f"{path.relative_to(ROOT)}: {node.name}: {name}"


def test_variables_are_named_by_nouns_and_not_by_participles() -> None:
    hits = {(name, place) for name, place in variables() if name in NO_NOUNS}

    assert {place for name, place in hits if name not in NO_NOUNS_EXCEPT} == set()
    assert {name for name, _ in hits} == NO_NOUNS_EXCEPT.keys()


# Classes whose whole name is a participle.
PARTICIPLE_CLASSES = {
    "messages of the wire that clients know": "Opened Closed Waited",
    "errors, whose names say what happened": """
        Declined Dropped Unauthenticated Unauthorized Unbalanced Unexpected Unscored
    """,
    "checks, whose names claim something": "Replied Untampered Untouched",
    "response models, whose names stand in the OpenAPI documents": """
        Deleted Executed Found Included Paged Replaced Titled
    """,
    "what a family allows, and choices with weights": "Allowed Weighted",
}


def test_classes_are_named_by_nouns_and_not_by_participles() -> None:
    hits = {
        name
        for path, tree in trees()
        if path.relative_to(ROOT).parts[0] not in {"tests", "examples"}
        for name in classes(tree)
        if len(re.findall("[A-Z]", name)) == 1 and starts_with_a_participle(name.lower())
    }

    assert hits == set(" ".join(PARTICIPLE_CLASSES.values()).split())


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


# Words of our own that readers meet at once, in the README, in settings and in options of the client.
OWN_WORDS = frozenset(
    [
        "Brief",
        "Check",
        "Collateral",
        "Constraint",
        "Control",
        "Curriculum",
        "Disguise",
        "Episode",
        "Family",
        "Fault",
        "Finding",
        "Fork",
        "Goal",
        "Ledger",
        "Oracle",
        "Outcome",
        "Par",
        "Plant",
        "Playground",
        "Product",
        "Profile",
        "Refusal",
        "Salt",
        "Split",
        "Step",
        "Surface",
        "Template",
        "Verdict",
        "World",
    ]
)


def glossary_words() -> list[str]:
    words = re.findall(r"^\| \**([A-Za-z' -]+?)\** \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    return [word for word in words if word != "word"]


def test_the_glossary_has_the_words_that_readers_meet_at_once() -> None:
    assert OWN_WORDS - set(glossary_words()) == set()


def test_the_glossary_defines_each_word_once() -> None:
    words = glossary_words()

    assert len(set(words)) == len(words) > 20
    assert words == sorted(words, key=str.casefold)
