"""The company's own packages: real enough to work on, the same on every machine, with bugs that are worth a hunt."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fixtures.codebase.bugs import bugs, list_missed_by_tests, list_seen_by_tests
from fixtures.codebase.contradictions import contradictions
from fixtures.codebase.examples import fields_of
from fixtures.codebase.gitpack import Repository
from fixtures.codebase.history import Author, History, write_history
from fixtures.codebase.packages import packages, stories
from fixtures.codebase.refactoring import functions, move_function, remove_function, stands_alone
from fixtures.tasks.ide.add_feature import DETAILS, candidates
from fixtures.tasks.ide.shared.bugs import imports_of
from fixtures.tasks.registry import families
from tests.ide.small_world import build_small_world

NAMES = sorted(packages())
AUTHORS = [Author("Julien Masson", "julien.masson@tallyport.io"), Author("Xia Huang", "xia.huang@tallyport.io")]
NOW = 1_793_000_000


def history(name: str) -> History:
    return write_history(packages()[name], stories()[name], AUTHORS, NOW)


def laid_out(files: dict[str, str], folder: Path) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def passes(folder: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml", "tests"]
    env = {"PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False).returncode == 0


def test_there_are_ten_libraries_and_more_of_a_size_that_can_be_read() -> None:
    sizes = {
        name: sum(text.count("\n") for path, text in package.files.items() if path.startswith("src/"))
        for name, package in packages().items()
    }

    assert len(sizes) >= 10
    assert all(200 <= size <= 600 for size in sizes.values()), sizes


@pytest.mark.parametrize("name", NAMES)
def test_a_package_passes_its_own_tests_as_agents_find_it(name: str, tmp_path: Path) -> None:
    assert passes(laid_out(dict(history(name).files), tmp_path))


def test_git_takes_a_history_that_was_made_without_it(tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(history("slots").repository.bundle())
    subprocess.run(["git", "clone", "-q", "-b", "main", "bundle", "clone"], cwd=tmp_path, check=True)
    checked = subprocess.run(["git", "fsck", "--strict"], cwd=tmp_path / "clone", capture_output=True, check=True)
    log = subprocess.run(
        ["git", "log", "--format=%an %s"], cwd=tmp_path / "clone", capture_output=True, text=True, check=True
    ).stdout

    assert b"error" not in checked.stderr
    assert log.splitlines()[-1].endswith("Time zones by rule, the same on every machine")


def test_a_history_is_read_back_as_it_was_written() -> None:
    made = history("twins").repository

    assert Repository.read(made.bundle()) == made


def test_every_source_file_is_written_once_so_that_no_version_tells_what_a_bug_was() -> None:
    for name in NAMES:
        made = history(name).repository
        blobs = [content.decode() for kind, content in made.objects.values() if kind == "blob"]
        for module in packages()[name].modules:
            text = packages()[name].module(module)
            assert [blob for blob in blobs if text.splitlines()[0] in blob] == [text]


def test_a_world_is_the_same_twice(tmp_path: Path) -> None:
    assert build_small_world(tmp_path / "one") == build_small_world(tmp_path / "other")


def test_there_are_more_than_three_hundred_bugs_of_eight_kinds_and_no_two_alike() -> None:
    found = bugs()
    kinds = Counter(bug.kind for bug in found if bug in list_missed_by_tests(bug.kind))

    assert len({(bug.path, bug.wrong) for bug in found}) == len(found)
    assert len(kinds) == 8
    assert all(count >= 10 for count in kinds.values()), kinds
    planted = [bug for kind in kinds for bug in list_missed_by_tests(kind)] + list_seen_by_tests()
    assert len(planted) == len(set(map(id, planted)))
    assert len(planted) + len(contradictions()) >= 300


def test_a_bug_changes_its_module_and_the_right_text_is_the_packages_own() -> None:
    assert all(bug.wrong != bug.right == packages()[bug.package].module(bug.module) for bug in bugs())


def test_a_hunt_finds_the_bugs_again_word_for_word() -> None:
    """Of a sample: fresh cases catch each, the package's own tests see as little of it as is written down."""
    command = [sys.executable, "-m", "fixtures.codebase.bug_search", "--check", "8"]
    told = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr


# Runs examples of one package: `[[code, what it should do], …]` on standard input, those that do otherwise on output.
_RUN_EXAMPLES = """
import ast, datetime, importlib, json, sys
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

package, modules, examples = json.load(sys.stdin)
names = {"datetime": datetime, "Decimal": Decimal, "Fraction": Fraction}
for module in modules:
    names |= vars(importlib.import_module(f"{package}.{module}")) | {"datetime": datetime}


def outcome(code, right):
    *before, last = ast.parse(code).body
    scope = {}
    exec(compile(ast.Module(before, []), "example", "exec"), scope)
    try:
        value = eval(compile(ast.Expression(last.value), "example", "eval"), scope)
        value = list(value) if isinstance(value, (Iterator, deque)) else value
    except Exception as error:
        return right if f"raises {type(error).__name__}" == right else repr(error)
    if right == f"gives a {type(value).__name__}" or right.endswith("\\u2026"):
        return right
    return right if eval(right.removeprefix("gives "), dict(names)) == value else repr(value)


wrong = [[code, right, found] for code, right in examples if (found := outcome(code, right)) != right]
json.dump(wrong, sys.stdout)
"""


@pytest.mark.parametrize("name", NAMES)
def test_an_example_can_be_run_as_it_stands_and_gives_what_it_calls_right(name: str) -> None:
    package = packages()[name]
    examples = [[imports_of(bug) + bug.example["code"], bug.example["right"]] for bug in bugs() if bug.package == name]
    source = Path(__file__).parents[2] / "fixtures" / "codebase" / "repos" / name / "src"
    env = {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    request = json.dumps([name, package.modules, examples])
    command = [sys.executable, "-c", _RUN_EXAMPLES]
    told = subprocess.run(command, input=request, env=env, capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == []


def test_an_example_makes_nothing_that_it_does_not_use_and_shows_objects_as_python_does() -> None:
    for bug in bugs():
        *before, last = ast.parse(bug.example["code"]).body
        for place, statement in enumerate(before):
            if isinstance(statement, ast.Assign):
                (target,) = statement.targets
                later = {node.id for after in (*before[place + 1 :], last) for node in _loaded(after)}
                assert ast.unparse(target) in later, bug.example["code"]
        for text in (bug.example["gave"], bug.example["right"]):
            for shown, inside in re.findall(r"\b([A-Z]\w+)\((\w+)=", text):
                fields = fields_of(bug.home).get(shown)
                assert not fields or inside == fields[0], text


def _loaded(statement: ast.stmt) -> list[ast.Name]:
    return [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


def test_what_issues_add_to_a_docstring_is_about_functions_that_can_be_missing() -> None:
    assert set(DETAILS) <= {f"{package}.{function.module}.{function.name}" for package, function in candidates()}


@pytest.mark.parametrize("place", [0, 17, 31])
def test_a_function_can_be_cut_out_and_the_rest_still_passes(place: int, tmp_path: Path) -> None:
    name, function = candidates()[place]
    package = packages()[name]
    files = {**history(name).files, **remove_function(package, function)}

    assert f'"{function.name}"' not in files[package.path_of("__init__")]
    assert passes(laid_out(files, tmp_path))


def test_a_function_can_be_moved_and_nobody_notices(tmp_path: Path) -> None:
    package = packages()["proration"]
    function = next(
        one for module in package.modules for one in functions(package, module) if stands_alone(package, one)
    )

    assert passes(laid_out({**history("proration").files, **move_function(package, function, "elsewhere")}, tmp_path))


def test_the_families_of_the_ide_hold_two_out_and_differ() -> None:
    ours = {name: found for name, found in families().items() if found.products == ("ide",)}

    assert len(ours) >= 8
    assert sum(found.splits == ("test",) for found in ours.values()) >= 2
    assert sum(found.count_instances(split) for found in ours.values() for split in found.splits) >= 300
