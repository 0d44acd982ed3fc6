"""Language servers of a workspace speak the whole protocol, over standard streams."""

import json
from pathlib import Path
from typing import Any

from tests.ide.service import Episode

CLIENT = (Path(__file__).parent / "lsp_client.py").read_text()
MONEY = '"""Money."""\n\n\ndef cents(euros: float) -> int:\n    """Whole cents."""\n    return round(euros * 100)\n'
CALLER = "from money import cents\n\nprint(cents(1.5), missing)\n"


def ask(episode: Episode, server: str, name: str, text: str, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
    """The results of some requests about one file, which is opened first."""
    uri = f"file:///tmp/p/{name}"
    opening = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    conversation: list[Any] = [
        ("initialize", {"processId": None, "rootUri": "file:///tmp/p", "capabilities": {}}),
        ("initialized", {}),
        ("textDocument/didOpen", {"textDocument": opening}),
        *((method, {"textDocument": {"uri": uri}, **params}) for method, params in requests),
    ]
    result = episode.execute(
        f"mkdir -p /tmp/p && cd /tmp/p && cat > money.py <<'END'\n{MONEY}END\ncat > caller.py <<'END'\n{CALLER}END\n"
        f"cat > /tmp/client.py <<'END'\n{CLIENT}END\n"
        f"python3 /tmp/client.py {server} <<'END'\n{json.dumps(conversation)}\nEND\n",
        timeout=60,
    )
    assert result["exit_code"] == 0, result
    return [json.loads(line) for line in result["stdout"].splitlines()][1:]


def test_definition_references_hover_and_rename_are_answered(episode: Episode) -> None:
    place = {"position": {"line": 2, "character": 7}}
    definition, references, hover, rename = ask(
        episode,
        "jedi-language-server",
        "caller.py",
        CALLER,
        ("textDocument/definition", place),
        ("textDocument/references", {**place, "context": {"includeDeclaration": True}}),
        ("textDocument/hover", place),
        ("textDocument/rename", {**place, "newName": "to_cents"}),
    )

    assert [(found["uri"], found["range"]["start"]["line"]) for found in definition] == [("file:///tmp/p/money.py", 3)]
    assert sorted(found["uri"].rpartition("/")[2] for found in references) == ["caller.py", "caller.py", "money.py"]
    assert "Whole cents." in hover["contents"]["value"]
    assert sorted(change["textDocument"]["uri"].rpartition("/")[2] for change in rename["documentChanges"]) == [
        "caller.py",
        "money.py",
    ]


def test_diagnostics_are_answered(episode: Episode) -> None:
    (report,) = ask(episode, "ruff server", "caller.py", CALLER, ("textDocument/diagnostic", {}))

    assert [item["code"] for item in report["items"]] == ["F821"]
