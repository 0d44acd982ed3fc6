"""Writes down which operations the known solutions of each family use: its oracle, and its other right solutions.

`python -m services.validate.known_solutions` plays them and writes `fixtures/tasks/known_solutions.json`, of which the
tool surface `task` is made. A test fails when an oracle uses an operation that the file does not name.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from fixtures.tasks.family import Family, Oracle
from fixtures.tasks.known_solutions import FILE
from fixtures.tasks.registry import families
from services.kernel import catalog
from services.kernel.config import Settings
from services.validate.attempt import Stuck, TrialContext, attempt, draw_instance
from services.validate.in_process_stack import InProcessStack

_SEEDS = (1, 2, 3, 4, 5, 6, 11, 12)


def find_operations(context: TrialContext, family: Family[Any], seeds: Iterable[int] = _SEEDS) -> list[str]:
    own = replace(context, split=family.splits[0])
    used: set[str] = set()
    for seed in seeds:
        known = draw_instance(own, family, seed)
        for solution in _solutions(family, known[1]):
            with attempt(own, family, seed, known_instance=known) as play:
                # What it called before it was refused still belongs to a solution.
                with suppress(Stuck):
                    play.follow(solution)
                used |= {step.call.operation for step in play.episode.steps if step.product}
    return sorted(used)


def _solutions(family: Family[Any], trouble: Any) -> Iterator[Oracle]:
    yield family.oracle(trouble)
    yield from family.alternatives(trouble).values()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="standard")
    parser.add_argument("family", nargs="*", help="only these families; the others stay as they are")
    arguments = parser.parse_args()
    settings = Settings.from_environment()
    solutions = json.loads(FILE.read_text()) if FILE.exists() else {}
    chosen = arguments.family or list(families())
    with InProcessStack(settings.var, tuple(catalog.names()), arguments.world) as stack:
        for name in chosen:
            solutions[name] = find_operations(TrialContext(stack, arguments.world, "train"), families()[name])
            print(f"{name}: {len(solutions[name])} operations")
    kept = {name: solutions[name] for name in sorted(solutions) if name in families()}
    FILE.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
