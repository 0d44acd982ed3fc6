"""Python source as a tree, also where an agent wrote it so that it cannot be read; the names that a module has."""

import ast
from functools import lru_cache

from services.ide.grading.edited_files import FileVersion

# What a text that cannot be parsed, or a tree that is too deep to be written out, makes the parser raise.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_LARGEST_CACHED_TEXT = 1 << 16


def public_names(text: str) -> dict[str, str]:
    """Public names of a module with their signatures; methods as Class.name."""
    names: dict[str, str] = {}
    for node in ast.parse(text).body:
        names |= _public_names(node, "")
    return names


def _public_names(node: ast.stmt, prefix: str) -> dict[str, str]:
    match node:
        case ast.FunctionDef(name=name, args=args) | ast.AsyncFunctionDef(name=name, args=args) if _is_public(name):
            return {prefix + name: unparse(args)}
        case ast.ClassDef(name=name, body=body) if _is_public(name):
            names = {prefix + name: "class"}
            for inner in body:
                names |= _public_names(inner, f"{prefix}{name}.")
            return names
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if _is_public(name):
            return {prefix + name: "value"}
    return {}


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def find_imported_names(text: str) -> set[str]:
    """Names that a module imports, under the names that it gives them."""
    nodes = [node for node in parse_text(text).body if isinstance(node, ast.ImportFrom | ast.Import)]
    return {alias.asname or alias.name for node in nodes for alias in node.names}


def parse_version(version: FileVersion | None) -> ast.Module:
    return parse_text("" if version is None else version.text)


def parse_text(text: str) -> ast.Module:
    """Several rules look at one text in turn: the last few are kept, unless they are large."""
    return _parse_cached(text) if len(text) <= _LARGEST_CACHED_TEXT else _parse_leniently(text)


def _parse_leniently(text: str) -> ast.Module:
    """An empty module where the text does not parse: it cannot run either."""
    try:
        return ast.parse(text)
    except UNREADABLE:
        return ast.Module(body=[], type_ignores=[])


_parse_cached = lru_cache(maxsize=4)(_parse_leniently)


def unparse(node: ast.AST) -> str:
    """Text that is nested too deeply is equal to no text that a person would write."""
    try:
        return ast.unparse(node)
    except UNREADABLE as error:
        return f"{type(error).__name__} in line {getattr(node, 'lineno', 0)}"
