"""The language server: completions and symbols from jedi, one JSON request a line, one reply a line."""

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
    match request["kind"]:
        case "completions":
            script = jedi.Script(path=request["path"], project=project)
            return [_item(name) for name in script.complete(request["line"] + 1, request["character"])]
        case "symbols":
            script = jedi.Script(path=request["path"], project=project)
            return [_symbol(name) for name in script.get_names(all_scopes=True, definitions=True) if _is_outlined(name)]
        case _:
            return [_symbol(name) for name in project.search(request["query"], all_scopes=True)]


def _item(name: Any) -> dict[str, Any]:
    return {
        "label": name.name,
        "kind": _ITEM.get(name.type, 1),
        "detail": name.description,
        "insertText": name.name,
    }


def _is_outlined(name: Any) -> bool:
    """An outline does not show parameters and locals of functions."""
    parent = name.parent()
    return name.type != "param" and (parent is None or parent.type in ("module", "class"))


def _symbol(name: Any) -> dict[str, Any]:
    line, column = (name.line or 1) - 1, name.column or 0
    start, end = {"line": line, "character": column}, {"line": line, "character": column + len(name.name)}
    where = {"uri": f"file://{name.module_path}", "range": {"start": start, "end": end}}
    return {"name": name.name, "kind": _SYMBOL.get(name.type, 13), "location": where}


def main() -> None:
    for line in sys.stdin:
        try:
            reply: dict[str, Any] = {"result": answer(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - the server outlives sources that cannot be read
            reply = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
