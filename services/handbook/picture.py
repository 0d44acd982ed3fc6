"""`python -m services.handbook.picture`: plays two episodes of one task and draws their verdicts, docs/verdict.svg."""

import io
import re
from pathlib import Path

from dayshift.rendering import render_verdict
from rich.console import Console
from rich.text import Text

from fixtures.tasks.registry import family
from services.kernel.config import Settings
from services.validate import policies
from services.validate.attempt import Attempt, Place, attempt
from services.validate.household import Household

_PICTURE = Path(__file__).resolve().parents[2] / "docs" / "verdict.svg"
_TASK, _SEED, _WORLD = "crm/correct-contact", 8, "small"
_PLAYED = (
    ("An agent that does what was asked", policies.oracle),
    ("One that renames somebody else, too", policies.stray),
)
_COLOURS = {"✓": "green", "✗": "red", "!": "yellow", "passed": "bold green", "failed": "bold red"}
_WIDTH = 104


def drawn(var: Path) -> str:
    """Without a font from elsewhere: whoever looks has one of fixed width."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    found = family(_TASK)
    with Household(var, found.products, _WORLD) as household:
        for what, policy in _PLAYED:
            with attempt(Place(household, _WORLD, found.splits[0]), found, _SEED) as made:
                verdict = policy(made)
                _tell(console, made, what)
                console.print(_coloured(render_verdict(verdict)))
    svg = console.export_svg(title=f"{_TASK}, seed {_SEED}", unique_id="verdict")
    return re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)


def _tell(console: Console, made: Attempt, what: str) -> None:
    if what == _PLAYED[0][0]:
        console.print(Text(f"“{made.episode.brief.strip()}”", "italic"))
    console.print(Text(f"\n{what}:", "bold"))
    for call in made.made:
        arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        line = f"  {call.operation}({arguments})"
        console.print(Text(line if len(line) < _WIDTH else f"{line[: _WIDTH - 2]}…", "dim"))


def _coloured(told: str) -> Text:
    text = Text()
    for line in told.strip("\n").splitlines():
        sign = line.split(maxsplit=1)[0].rstrip(":") if line.strip() else ""
        text.append(f"{line}\n", _COLOURS.get(sign, ""))
    return text


def main() -> None:
    _PICTURE.write_text(drawn(Settings.from_environment().var), encoding="utf-8")
    print(_PICTURE)


if __name__ == "__main__":
    main()
