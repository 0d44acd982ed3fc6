"""python -m loadtests run | max | cost | check | chaos | peers"""

import argparse
import os
import sys
from pathlib import Path

_WORLDS = Path(os.environ.get("DAYSHIFT_VAR", "var")) / "worlds"
_REPORTS = Path(os.environ.get("DAYSHIFT_VAR", "var")) / "reports" / "load"


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    # Late: Locust patches the whole process when it is imported, and only some commands want that.
    match options.command:
        case "run":
            from loadtests.runs import run

            return run(options)
        case "max":
            from loadtests.runs import find_limit

            return find_limit(options)
        case "cost":
            from loadtests.cost import compare_cost

            return compare_cost(options)
        case "check":
            from loadtests.check import check

            return check(options)
        case "chaos":
            from loadtests.chaos import chaos

            return chaos(options)
        case _:
            from loadtests.peers import peers

            return peers(options)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadtests", description="Load, consistency, faults and peers.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = _add_target_options(
        commands.add_parser("run", help="whole episodes at a given rate, with consistency checks")
    )
    run.add_argument("--shape", choices=("constant", "ramp", "spike", "soak"), default="constant")
    run.add_argument("--qps", type=float, default=200.0)
    run.add_argument("--seconds", type=float, default=60.0)
    run.add_argument("--episodes", type=int, default=0, help="open at once (default: one per user)")
    run.add_argument("--growth", type=float, help="fail when memory grows by more than this share after warm-up")
    run.add_argument("--p99", type=float, help="fail when the 99th percentile is above this many milliseconds")
    run.add_argument("--prompt-p99", type=float, help="the same, without verdicts and agents' own programs")
    knee = _add_target_options(commands.add_parser("max", help="find the rate at which answers start to wait"))
    knee.add_argument("--seconds", type=float, default=8.0, help="per rate")
    cost = _add_target_options(
        commands.add_parser("cost", help="CPU per request at 1 and at 500 open episodes, and by world")
    )
    cost.add_argument("--seconds", type=float, default=10.0, help="per measurement")
    check = _add_target_options(
        commands.add_parser("check", help="several clients on one episode: are their histories possible?")
    )
    check.add_argument("--seconds", type=float, default=10.0)
    check.add_argument("--requests", type=int, default=0, help="go on for up to a minute until so many are answered")
    check.add_argument("--clients", type=int, default=6)
    check.add_argument("--runs", type=int, default=1)
    chaos = commands.add_parser("chaos", help="break one part at a time under load and see what becomes of it")
    chaos.add_argument("--qps", type=float, default=200.0)
    chaos.add_argument("--seconds", type=float, default=30.0, help="per fault")
    chaos.add_argument("--fault", action="append", help="only this one; may be given several times")
    chaos.add_argument("--world", default="standard")
    chaos.add_argument("--worlds", type=Path, default=_WORLDS)
    chaos.add_argument("--reports", type=Path, default=_REPORTS)
    peers = commands.add_parser("peers", help="side by side with OpenEnv's own server")
    peers.add_argument("--seconds", type=float, default=5.0)
    peers.add_argument("--world", default="standard")
    peers.add_argument("--worlds", type=Path, default=_WORLDS)
    peers.add_argument("--reports", type=Path, default=_REPORTS)
    peers.add_argument("--venv", type=Path, default=_WORLDS.parent / "peers-venv")
    return parser


def _add_target_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--url", help="a stack that runs already; without it one is started here")
    parser.add_argument("--compose", action="store_true", help="that stack is the compose stack of this folder")
    parser.add_argument("--token", default=os.environ.get("DAYSHIFT_CONTROL_TOKEN", "laptop-control"))
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--product", help="work at this product alone (default: at all products)")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--worlds", type=Path, default=_WORLDS, help="where the world files of a started stack lie")
    parser.add_argument("--reports", type=Path, default=_REPORTS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
