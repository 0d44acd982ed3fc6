"""Which file of a tree a module is, by the rules of Python's import system."""

import sys
from collections.abc import Iterable, Iterator

# A package wins over a module of the same name; of several files, the first kind of these wins.
_PACKAGE, _MODULE = 0, 1
_SUFFIXES = ("so", "py", "pyc")
# Modules that Python or the test tools import by themselves.
_STANDARD = sys.stdlib_module_names | {"sitecustomize", "usercustomize", "pytest", "_pytest", "pluggy"}
Rank = tuple[int, int]


def find_stand_ins(tree: Iterable[str], reference: Iterable[str], source: str) -> list[tuple[str, str]]:
    """Flags for files that Python would import instead of the one that the reference has, or that Python has itself."""
    due, present = module_paths(reference, source), module_paths(tree, source)
    flags = [
        ("tamper", f"{present[name]} stands in for {path}")
        for name, path in due.items()
        if present.get(name, path) != path
    ]
    return flags + [
        ("tamper", f"{path} stands before a module of the same name")
        for name, path in present.items()
        if name in _STANDARD and name not in due
    ]


def module_names(paths: Iterable[str], source: str) -> frozenset[str]:
    """Modules' own names, without those of the packages that they are in."""
    return frozenset(name.rpartition(".")[2] for name in module_paths(paths, source))


def module_paths(paths: Iterable[str], source: str) -> dict[str, str]:
    """By a module's full name, the file that is imported for it from the folder `source`."""
    best: dict[str, tuple[Rank, str]] = {}
    for path in paths:
        for name, rank in _module_of(path, source):
            if name not in best or (rank, path) < best[name]:
                best[name] = (rank, path)
    return {name: path for name, (_, path) in sorted(best.items())}


def _module_of(path: str, source: str) -> Iterator[tuple[str, Rank]]:
    """Nothing for a file that cannot be imported, and for what lies beside the packages."""
    *folders, file = path.removeprefix(f"{source.rstrip('/')}/").split("/")
    stem, _, suffixes = file.partition(".")
    suffix = suffixes.rpartition(".")[2]
    # Only the names of extension modules say more than one suffix.
    if suffix not in _SUFFIXES or suffix not in ("so", suffixes):
        return
    if stem != "__init__":
        yield ".".join([*folders, stem]), (_MODULE, _SUFFIXES.index(suffix))
    elif folders:
        yield ".".join(folders), (_PACKAGE, _SUFFIXES.index(suffix))
