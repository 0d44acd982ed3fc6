"""Completions and symbols, as jedi reads them from the sources: one JSON request a line, one answer a line."""

import json
import sys
from typing import Any

import jedi  # type: ignore[import-untyped]  # it has no stubs

# Numbers of the Language Server Protocol.
_SYMBOL = {"module": 2, "class": 5, "function": 12, "param": 13, "statement": 13, "instance": 13, "property": 7}
_ITEM = {
    "module": 9,
    "class": 7,
    "function": 3,
    "instance": 6,
    "statement": 6,
    "param": 6,
    "keyword": 14,
    "property": 10,
}


def answer(request: dict[str, Any]) -> Any:
    project = jedi.Project(request["project"])
    match request["ask"]:
        case "completions":
            script = jedi.Script(path=request["path"], project=project)
            return [_item(found) for found in script.complete(request["line"] + 1, request["character"])]
        case "symbols":
            script = jedi.Script(path=request["path"], project=project)
            return [_symbol(found) for found in script.get_names(all_scopes=True, definitions=True) if _is_worth(found)]
        case _:
            return [_symbol(found) for found in project.search(request["query"], all_scopes=True)]


def _item(found: Any) -> dict[str, Any]:
    return {
        "label": found.name,
        "kind": _ITEM.get(found.type, 1),
        "detail": found.description,
        "insertText": found.name,
    }


def _is_worth(found: Any) -> bool:
    """Parameters and locals of functions are not what an outline shows."""
    parent = found.parent()
    return found.type != "param" and (parent is None or parent.type in ("module", "class"))


def _symbol(found: Any) -> dict[str, Any]:
    line, column = (found.line or 1) - 1, found.column or 0
    start, end = {"line": line, "character": column}, {"line": line, "character": column + len(found.name)}
    where = {"uri": f"file://{found.module_path}", "range": {"start": start, "end": end}}
    return {"name": found.name, "kind": _SYMBOL.get(found.type, 13), "location": where}


def main() -> None:
    for line in sys.stdin:
        try:
            told: dict[str, Any] = {"result": answer(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - sources that cannot be read are answered, not died of
            told = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
