"""Scripts of models that coding agents call."""

import json
import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.scripted_provider import repair
from tests.scripted_provider.asked import Asked, Scripted

_CONTEXT = 3
# aider says with every request for an edit how blocks are written.
_RULES = "*SEARCH/REPLACE block* Rules"
_FILE = re.compile(r"^((?:src|tests)/\S+\.py)\n```(?:python)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Report:
    """What an issue says: code that can be run, and what its last line should give."""

    module: str
    program: str
    expected: str

    @classmethod
    def find(cls, text: str) -> "Report | None":
        code = re.search(r"```python\n(from .*?)\n```", text, re.DOTALL)
        expected = re.findall(r"gives (.+)\.$", text, re.MULTILINE)
        if code is None or not expected:
            return None
        *before, last = code[1].splitlines()
        module = re.search(r"^from (\S+) import", code[1], re.MULTILINE)
        assert module is not None, code[1]
        return cls(module[1], "\n".join([*before, f"print(repr({last}))"]), expected[-1])


def shell_repairer(asked: Asked) -> Scripted:
    """For agents with one tool, a shell: looks around, repairs, runs the tests, submits."""
    report = Report.find(asked.brief)
    assert report is not None, asked.brief
    arguments = shlex.join([report.module, report.program, report.expected])
    source = Path(repair.__file__).read_text()
    steps = (
        ("I look around first.", "git log --oneline | head -5; ls src tests"),
        ("I try each limit.", f"cat > /tmp/repair.py <<'END'\n{source}END\npython3 /tmp/repair.py {arguments}"),
        ("It is found; do the tests pass?", "git diff && python3 -m pytest -q -p no:cacheprovider"),
        ("The repair is done.", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    )
    text, command = steps[min(len(asked.answers), len(steps) - 1)]
    return Scripted(text, (("bash", json.dumps({"command": command})),))


def block_repairer(asked: Asked) -> Scripted:
    """For agents that show files and take blocks to search for and to replace: answers with one such block."""
    text = "\n".join(asked.messages)
    if _RULES not in text:
        # What is asked for after an edit: a message for the commit.
        return Scripted("fix: move a limit that was off by one")
    report = Report.find(text)
    assert report is not None, text
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, content in _FILE.findall(text):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
        path = root / "src" / f"{report.module.replace('.', '/')}.py"
        before = path.read_text().splitlines()
        repair.repair(root, report.module, report.program, report.expected)
        after = path.read_text().splitlines()
    changed = next(
        (number for number, lines in enumerate(zip(before, after, strict=True)) if len(set(lines)) > 1), None
    )
    if changed is None:
        return Scripted("The limit is right by now.")
    around = slice(max(0, changed - _CONTEXT), changed + _CONTEXT + 1)
    search, replace = ("\n".join(lines[around]) for lines in (before, after))
    block = f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE"
    return Scripted(f"The limit is off by one.\n\n{path.relative_to(root)}\n```python\n{block}\n```\n")
