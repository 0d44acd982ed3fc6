"""No run of six lines of code stands twice in the services, except where both places only declare."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = 6
# By the lines of a run, the places where it begins.
Repeated = dict[tuple[str, ...], list[tuple[str, int]]]
# A run of brackets and closing lines says nothing.
TELLING = 3
# Files, or parts of paths, that share declarations with another file, and why.
DECLARATIONS = {
    "services/control/tables.py": "a migration keeps the tables as they were when it was written",
    "/product.py": "every product gives its parts to the fields of one declaration",
    "services/ide/routes/pulls.py": "two lists of the code host take the same first parameters",
}


def says_nothing_of_code(node: ast.AST) -> bool:
    """Imports and docstrings."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)


def skipped_lines(tree: ast.Module) -> set[int]:
    """Lines of imports, of docstrings and of the fields of classes."""
    nodes = list(ast.walk(tree))
    fields = [step for node in nodes if isinstance(node, ast.ClassDef) for step in node.body]
    skipped = [
        *(node for node in nodes if says_nothing_of_code(node)),
        *(step for step in fields if isinstance(step, ast.AnnAssign)),
    ]
    return {line for node in skipped for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}  # type: ignore[attr-defined]  # statements have lines


def code_lines(path: Path) -> list[tuple[int, str]]:
    text = (ROOT / path).read_text(encoding="utf-8")
    skipped = skipped_lines(ast.parse(text))
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [(number, line) for number, line in stripped if line and not line.startswith("#") and number not in skipped]


def runs(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    lines = code_lines(path)
    for start in range(len(lines) - RUN + 1):
        run = tuple(line for _, line in lines[start : start + RUN])
        if sum(len(line) > TELLING for line in set(run)) >= TELLING:
            yield lines[start][0], run


def repeated_runs(paths: list[Path]) -> Repeated:
    places = defaultdict(list)
    for path in paths:
        for number, run in runs(path):
            places[run].append((str(path), number))
    return {run: where for run, where in places.items() if len(where) > 1}


@pytest.fixture(scope="module")
def repeated() -> Repeated:
    return repeated_runs([path.relative_to(ROOT) for path in sorted((ROOT / "services").rglob("*.py"))])


def declares(path: str) -> bool:
    return any(part in path for part in DECLARATIONS)


def test_no_code_stands_twice(repeated: Repeated) -> None:
    places = [place for place in repeated.values() if not declares(place[-1][0])]

    assert places == []


def test_every_exception_is_still_needed(repeated: Repeated) -> None:
    later = {place[-1][0] for place in repeated.values()}

    assert [part for part in DECLARATIONS if not any(part in path for path in later)] == []


def test_a_repetition_is_found(tmp_path: Path) -> None:
    body = "\n".join(f"    total += price_{number}" for number in range(RUN))
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(f'def add(total):\n    """Add {name}."""\n{body}\n    return total\n')

    assert repeated_runs(sorted(tmp_path.iterdir())) != {}
