"""`python -m services.docs_site.verdict_picture` plays two episodes of a task and draws docs/verdict.svg."""

import io
import re
from pathlib import Path

from dayshift.rendering import render_verdict
from dayshift.wire import Verdict
from rich.console import Console
from rich.text import Text

from fixtures.tasks.family import Call
from fixtures.tasks.registry import family
from services.kernel.config import Settings
from services.validate.attempt import Attempt, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "verdict.svg"
# The first episode of the README.
TASK, SEED, WORLD = "crm/correct-contact", 8, "standard"
_SURNAME = "Herrmann-Ortega"


def _do_what_was_asked(attempted: Attempt) -> Verdict:
    email, phone = _read_brief(attempted.episode.brief)
    found = attempted.do(Call("crm.contacts.search", {"query": email}))["results"][0]
    attempted.do(Call("crm.contacts.update", {"contactId": found["id"], "properties": {"phone": phone}}))
    return attempted.submit()


def _rename_somebody_else_too(attempted: Attempt) -> Verdict:
    email, phone = _read_brief(attempted.episode.brief)
    contact = attempted.do(Call("crm.contacts.search", {"query": email}))["results"][0]
    attempted.do(Call("crm.contacts.update", {"contactId": contact["id"], "properties": {"phone": phone}}))
    others = attempted.do(Call("crm.contacts.list", {"limit": 2}))["results"]
    other = next(row["id"] for row in others if row["id"] != contact["id"])
    attempted.do(Call("crm.contacts.update", {"contactId": other, "properties": {"lastname": _SURNAME}}))
    return attempted.submit()


def _read_brief(brief: str) -> tuple[str, str]:
    found = re.search(r"\((.+?)\) says .+ phone is (.+?)\. Please", brief)
    assert found is not None, brief
    return found[1], found[2]


_PLAYED = (
    ("An agent that does what was asked", _do_what_was_asked),
    ("One that renames somebody else, too", _rename_somebody_else_too),
)
_COLOURS = {"✓": "green", "✗": "red", "!": "yellow", "passed": "bold green", "failed": "bold red"}
_WIDTH = 104


def draw_verdicts(var: Path) -> str:
    """Returns the picture as SVG without an embedded font: the reader's own font of fixed width is used."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    task_family = family(TASK)
    with InProcessStack(var, task_family.products, WORLD) as stack:
        for what, policy in _PLAYED:
            with attempt(TrialContext(stack, WORLD, task_family.splits[0]), task_family, SEED) as attempted:
                verdict = policy(attempted)
                _print_calls(console, attempted, what)
                console.print(_colour_lines(render_verdict(verdict)))
    svg = console.export_svg(title=f"{TASK}, seed {SEED}", unique_id="verdict")
    return re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)


def _print_calls(console: Console, attempted: Attempt, what: str) -> None:
    if what == _PLAYED[0][0]:
        console.print(Text(f"“{attempted.episode.brief.strip()}”", "italic"))
    console.print(Text(f"\n{what}:", "bold"))
    for call in attempted.calls:
        arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        line = f"  {call.operation}({arguments})"
        console.print(Text(line if len(line) < _WIDTH else f"{line[: _WIDTH - 2]}…", "dim"))


def _colour_lines(rendered: str) -> Text:
    text = Text()
    for line in rendered.strip("\n").splitlines():
        sign = line.split(maxsplit=1)[0].rstrip(":") if line.strip() else ""
        text.append(f"{line}\n", _COLOURS.get(sign, ""))
    return text


def main() -> None:
    PICTURE.write_text(draw_verdicts(Settings.from_environment().var), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
