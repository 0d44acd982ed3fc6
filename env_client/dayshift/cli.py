"""dayshift tasks | play | doctor | verify | report | export | playground."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from dayshift.connection import Address, Connection
from dayshift.discovery import discover
from dayshift.errors import DayshiftError
from dayshift.report_text import columns

_HISTORY = ".dayshift_history"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = chosen.command
    try:
        return command(chosen)
    except DayshiftError as error:
        print(f"dayshift: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def tasks(chosen: argparse.Namespace) -> int:
    with _connected(chosen) as connection:
        families = connection.run(connection.address.control.families()).families
    shown = [one for one in families if chosen.product in (None, *one.products) and chosen.split in (None, *one.split)]
    rows = [
        (one.id, ", ".join(one.products), ", ".join(one.split), str(one.instances), str(one.budget.steps), one.title)
        for one in shown
    ]
    print(columns(("task", "products", "splits", "instances", "steps", "title"), rows))
    return 0


def play(chosen: argparse.Namespace) -> int:
    from dayshift.episode import Episode  # late: each command loads its own
    from dayshift.play import play as play_episode
    from dayshift.play import prompt

    options = {"split": chosen.split, "world": chosen.world, "faults": chosen.faults}
    with (
        _connected(chosen) as connection,
        Episode.open(chosen.task, seed=chosen.seed, connection=connection, **options) as episode,
    ):
        read = prompt(episode.operations, str(Path.home() / _HISTORY)) if sys.stdin.isatty() else input
        play_episode(episode, read, print)
    return 0


def doctor(chosen: argparse.Namespace) -> int:
    from dayshift.doctor import examine  # late: each command loads its own

    all_well = True
    with _connected(chosen) as connection:
        for diagnosis in examine(connection):
            all_well &= diagnosis.well
            print(f"{'✓' if diagnosis.well else '✗'} {diagnosis.what}: {diagnosis.found}")
            if not diagnosis.well:
                print(f"    → {diagnosis.remedy}")
    return 0 if all_well else 1


def verify(chosen: argparse.Namespace) -> int:
    from dayshift.recordings import read  # late: each command loads its own
    from dayshift.replay import verify as verify_one

    held = broken = 0
    with _connected(chosen) as connection:
        for trajectory in read(chosen.file):
            if chosen.episode not in (None, trajectory.manifest.episode_id):
                continue
            proof = verify_one(trajectory, connection)
            held, broken = held + proof.holds, broken + (not proof.holds)
            print(f"{'✓' if proof.holds else '✗'} {proof.episode_id}: {proof.steps} steps, {proof.answer_bytes} bytes")
            if proof.difference is not None:
                print(f"  {proof.difference}")
    print(f"{held} identical, {broken} different")
    return 0 if held and not broken else 1


def report(chosen: argparse.Namespace) -> int:
    from dayshift.recordings import load  # late: each command loads its own
    from dayshift.report import summarise
    from dayshift.report_html import as_html
    from dayshift.report_text import as_text

    summary = summarise(load(chosen.folder, quarantined=True))
    page = Path(chosen.html or Path(chosen.folder) / "report.html")
    page.write_text(as_html(summary, f"Dayshift: {Path(chosen.folder).resolve().name}"), encoding="utf-8")
    print(as_text(summary))
    print(f"page: {page}")
    return 0


def export(chosen: argparse.Namespace) -> int:
    from dayshift.export import chat_rows, reinforcement_rows, write_rows  # late: each command loads its own
    from dayshift.recordings import load

    with _connected(chosen) as connection:
        operations = connection.run(discover(connection.address.control, chosen.world, ()))
    recorded = load(chosen.folder)
    if chosen.form == "minari":
        from dayshift.minari_export import export_minari

        exported = export_minari(recorded, operations, chosen.output)
        print(f"{exported.total_episodes} episodes in the Minari dataset {chosen.output}")
        return 0
    rows = chat_rows if chosen.form == "chat" else reinforcement_rows
    print(f"{write_rows(rows(recorded, operations), chosen.output)} rows in {chosen.output}")
    return 0


def playground(chosen: argparse.Namespace) -> int:
    with _connected(chosen) as connection:
        connection.run(connection.address.control.reset_playground())
    print("the playground is as it was at the start")
    return 0


def _connected(chosen: argparse.Namespace) -> Connection:
    return Connection(Address.find(chosen.control_url))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dayshift", description="The trainer's side of Dayshift.")
    parser.add_argument("--control-url", metavar="URL", help="where control listens (else DAYSHIFT_CONTROL_URL)")
    commands = parser.add_subparsers(required=True, metavar="command")
    _tasks_parser(commands)
    _play_parser(commands)
    commands.add_parser("doctor", help="check the stack and say what to do").set_defaults(command=doctor)
    _recording_parsers(commands)
    ground = commands.add_parser("playground", help="the standing free play")
    ground.add_argument("--reset", action="store_true", required=True, help="roll it back")
    ground.set_defaults(command=playground)
    return parser


def _tasks_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    listing = commands.add_parser("tasks", help="list the task families")
    listing.add_argument("--product")
    listing.add_argument("--split", choices=("train", "validation", "test"))
    listing.set_defaults(command=tasks)


def _play_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    by_hand = commands.add_parser("play", help="take the agent's place")
    by_hand.add_argument("--task", help="a family's id; without one it is free play")
    by_hand.add_argument("--seed", type=int, default=0)
    by_hand.add_argument("--split", choices=("train", "validation", "test"), default="train")
    by_hand.add_argument("--world", default="standard")
    by_hand.add_argument("--faults", default="none")
    by_hand.set_defaults(command=play)


def _recording_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    again = commands.add_parser("verify", help="replay recorded episodes and compare every byte")
    again.add_argument("file", help="a trajectories.jsonl")
    again.add_argument("--episode", help="only this one")
    again.set_defaults(command=verify)
    summing = commands.add_parser("report", help="what a folder of recordings adds up to")
    summing.add_argument("folder")
    summing.add_argument("--html", help="where to write the page (else report.html in the folder)")
    summing.set_defaults(command=report)
    outward = commands.add_parser("export", help="recordings in the forms that others train from")
    outward.add_argument("folder")
    outward.add_argument("--form", choices=("chat", "reinforcement", "minari"), required=True)
    outward.add_argument("--output", required=True, help="a file, or the id of a Minari dataset")
    outward.add_argument("--world", default="standard")
    outward.set_defaults(command=export)


if __name__ == "__main__":
    sys.exit(main())
