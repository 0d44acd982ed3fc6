"""The `dayshift` command: tasks, play, doctor, run, compare, verify, report, export, review, playground."""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from dayshift.argument_types import (
    ArgumentParser,
    parse_not_negative,
    parse_number,
    parse_port,
    parse_positive,
    parse_seed,
    parse_whole,
)
from dayshift.connection import Address, Connection
from dayshift.discovery import discover_operations
from dayshift.errors import DayshiftError, UsageError
from dayshift.operations import Catalogue
from dayshift.report_text import render_columns
from dayshift.tool_surface import is_task_surface
from dayshift.version import VERSION

# The first port that no service of a stack takes: the viewer stands beside `make up`.
VIEWER_PORT = 8707
_HISTORY_FILE = ".dayshift_history"
_SURFACES = ("search", "core", "full")
_SPLITS = ("train", "validation", "test")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FAULTS_HELP = "the fault plan: none, rough, storm or lagging-search (default %(default)s)"
_WORLD_HELP = "the company's size: small or standard, unless others are built (default %(default)s)"


def main(arguments: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = args.command
    if sys.stdout is None:
        # Started with its output closed (`>&-`): what is printed goes nowhere.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the life of the process
    try:
        code = command(args)
        sys.stdout.flush()
    except DayshiftError as error:
        print(f"dayshift: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough.
        _discard_output()
        return 1
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise
        _discard_output()
        print(f"dayshift: {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _discard_output() -> None:
    """What is still in the buffer must not fail at exit again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tasks(args: argparse.Namespace) -> int:
    with _connect(args) as connection:
        families = connection.run(connection.address.control.families()).families
        products = sorted({product for family in families for product in family.products})
        if args.product not in (None, *products):
            raise UsageError(f"no product is called {args.product!r}; there are {', '.join(products)}")
        operations = connection.run(discover_operations(connection.address.control, args.world, ()))
    surfaces = (args.surface,) if args.surface else _SURFACES
    count = cache(partial(_count_tokens, operations))
    rows = [
        (
            family.id,
            ", ".join(family.products),
            ", ".join(family.split),
            "/".join(str(family.instances[split]) for split in family.split),
            str(family.budget.steps),
            *(
                count(name, tuple(family.products), tuple(family.operations) if is_task_surface(name) else ())
                for name in surfaces
            ),
            family.title,
        )
        for family in families
        if args.product in (None, *family.products) and args.split in (None, *family.split)
    ]
    tokens = [f"tokens of {name}" for name in surfaces]
    print(render_columns(("task", "products", "splits", "instances", "steps", *tokens, "title"), rows))
    return 0


def _count_tokens(operations: Catalogue, surface: str, products: tuple[str, ...], solution: tuple[str, ...]) -> str:
    """The size of a family's tool list; with `task` that of seed 0, where the family's solutions are known."""
    if is_task_surface(surface) and not solution:
        return "–"
    return f"{operations.of_products(products).surface(surface, solution=solution).tokens:,}"


def play(args: argparse.Namespace) -> int:
    from dayshift.episode import Episode, EpisodeOptions  # each command imports its own modules
    from dayshift.play import create_prompt
    from dayshift.play import play as play_episode

    options: EpisodeOptions = {"split": args.split, "world": args.world, "faults": args.faults}
    with (
        _connect(args) as connection,
        Episode.open(args.task, seed=args.seed, connection=connection, **options) as episode,
    ):
        read = create_prompt(episode.operations, str(Path.home() / _HISTORY_FILE)) if sys.stdin.isatty() else input
        play_episode(episode, read, print)
    return 0


def doctor(args: argparse.Namespace) -> int:
    from dayshift.doctor import run_checks  # each command imports its own modules

    all_ok = True
    with _connect(args) as connection:
        for diagnosis in run_checks(connection):
            all_ok &= diagnosis.ok
            print(f"{'✓' if diagnosis.ok else '✗'} {diagnosis.name}: {diagnosis.detail}")
            if not diagnosis.ok:
                print(f"    → {diagnosis.remedy}")
    return 0 if all_ok else 1


def verify(args: argparse.Namespace) -> int:
    from dayshift.recordings import load, read  # each command imports its own modules
    from dayshift.replay import verify as verify_trajectory

    identical = different = 0
    with _connect(args) as connection:
        for trajectory in load(args.file) if Path(args.file).is_dir() else read(args.file):
            if args.episode not in (None, trajectory.manifest.episode_id):
                continue
            result = verify_trajectory(trajectory, connection)
            identical, different = identical + result.identical, different + (not result.identical)
            mark = "✓" if result.identical else "✗"
            print(f"{mark} {result.episode_id}: {result.steps} steps, {result.answer_bytes} bytes")
            if result.difference is not None:
                print(f"  {result.difference}")
    if not identical + different:
        which = f"episode {args.episode!r}" if args.episode else "recorded episode"
        raise UsageError(f"there is no {which} in {args.file}")
    print(f"{identical} identical, {different} different")
    return 1 if different else 0


def report(args: argparse.Namespace) -> int:
    from dayshift.recordings import load  # each command imports its own modules
    from dayshift.report import summarise
    from dayshift.report_html import render_html
    from dayshift.report_text import render_text

    summary = summarise(load(args.folder, quarantined=True))
    if not summary.episodes:
        raise UsageError(f"there is no recorded episode in {args.folder}")
    page = Path(args.html or Path(args.folder) / "report.html")
    page.write_text(render_html(summary, f"Dayshift: {Path(args.folder).resolve().name}"), encoding="utf-8")
    print(render_text(summary))
    print(f"page: {page}")
    return 0


def view(args: argparse.Namespace) -> int:
    from dayshift.viewer.command import view as view_recordings  # each command imports its own modules

    return view_recordings(args)


def share(args: argparse.Namespace) -> int:
    from dayshift.viewer.command import share as share_episodes  # each command imports its own modules

    return share_episodes(args)


def export(args: argparse.Namespace) -> int:
    from dayshift.export_command import export as export_recordings  # each command imports its own modules

    return export_recordings(args)


def review(args: argparse.Namespace) -> int:
    from dayshift.review.command import review as review_recordings  # each command imports its own modules

    return review_recordings(args)


def run(args: argparse.Namespace) -> int:
    from dayshift.run_command import run as run_model  # each command imports its own modules

    return run_model(args)


def compare(args: argparse.Namespace) -> int:
    from dayshift.run_command import compare as compare_runs  # each command imports its own modules

    return compare_runs(args)


def playground(args: argparse.Namespace) -> int:
    with _connect(args) as connection:
        if args.reset:
            connection.run(connection.address.control.reset_playground())
            print("the playground is back in its initial state")
            return 0
        standing = connection.run(connection.address.control.playground())
    rows = [
        (name, access.title, access.state, access.base_url, " or ".join(access.credentials))
        for name, access in standing.products.items()
    ]
    print(render_columns(("product", "API", "state", "address", "credential"), rows))
    print("\ndayshift playground --reset rolls it back.")
    return 0


def _connect(args: argparse.Namespace) -> Connection:
    return Connection(Address.find(args.control_url))


def build_parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(prog="dayshift", description="The trainer's commands of Dayshift.")
    parser.add_argument("--version", action="version", version=VERSION, help="print the version and stop")
    parser.add_argument("--control-url", metavar="URL", help="the URL of control (default DAYSHIFT_CONTROL_URL)")
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_tasks_command(commands)
    _add_play_command(commands)
    commands.add_parser("doctor", help="check the stack and name remedies").set_defaults(command=doctor)
    _add_run_commands(commands)
    _add_recording_commands(commands)
    playground_parser = commands.add_parser("playground", help="addresses and credentials of the standing free play")
    playground_parser.add_argument("--reset", action="store_true", help="roll it back to its initial state")
    playground_parser.set_defaults(command=playground)
    return parser


def _add_tasks_command(commands: "argparse._SubParsersAction[ArgumentParser]") -> None:
    tasks_parser = commands.add_parser("tasks", help="list the task families")
    tasks_parser.add_argument("--product", help="only tasks that work with this product")
    tasks_parser.add_argument("--split", choices=_SPLITS, help="only tasks that have this split")
    tasks_parser.add_argument(
        "--surface", help="count the tokens of these tools, such as task (default search, core and full)"
    )
    tasks_parser.add_argument("--world", default="standard", help=_WORLD_HELP)
    tasks_parser.set_defaults(command=tasks)


def _add_play_command(commands: "argparse._SubParsersAction[ArgumentParser]") -> None:
    play_parser = commands.add_parser("play", help="play an episode by hand")
    play_parser.add_argument("--task", help="a family's id; without it the episode is free play")
    play_parser.add_argument(
        "--seed", type=parse_seed, default=0, help="which instance of the task (default %(default)s)"
    )
    play_parser.add_argument("--split", choices=_SPLITS, default="train", help="of its instances (default %(default)s)")
    play_parser.add_argument("--world", default="standard", help=_WORLD_HELP)
    play_parser.add_argument("--faults", default="none", help=_FAULTS_HELP)
    play_parser.set_defaults(command=play)


def _add_run_commands(commands: "argparse._SubParsersAction[ArgumentParser]") -> None:
    parser = commands.add_parser("run", help="evaluate a model over tasks")
    model = parser.add_argument_group("model")
    model.add_argument(
        "--model",
        required=True,
        help="openai/NAME (chat completions, also of vLLM, SGLang, llama.cpp and Ollama), openai-responses/NAME, "
        "anthropic/NAME, or python:module.function for an agent of your own",
    )
    model.add_argument("--policy-version", metavar="NAME", help="a name for these weights, kept in every recording")
    model.add_argument("--base-url", help="the address of a server that speaks the provider's protocol")
    model.add_argument("--temperature", type=parse_number, help="left to the provider by default")
    model.add_argument("--top-p", type=parse_number, help="left to the provider by default")
    model.add_argument("--sampling-seed", type=parse_whole, help="the provider's seed, where it has one")
    model.add_argument(
        "--max-output-tokens", type=parse_positive, default=4096, help="of one reply (default %(default)s)"
    )
    model.add_argument("--logprobs", action="store_true", help="record log probabilities, where the server has them")
    model.add_argument("--token-ids", action="store_true", help="record token ids, where the server has them (vLLM)")
    model.add_argument(
        "--timeout", type=parse_number, default=300.0, help="seconds for one reply (default %(default)s)"
    )
    model.add_argument(
        "--retries", type=parse_not_negative, default=6, help="after a provider's failure (default %(default)s)"
    )
    model.add_argument("--price-input", type=parse_number, metavar="DOLLARS", help="for a million input tokens")
    model.add_argument(
        "--price-cached", type=parse_number, metavar="DOLLARS", help="for a million cached ones (default --price-input)"
    )
    model.add_argument("--price-output", type=parse_number, metavar="DOLLARS", help="for a million output tokens")
    work = parser.add_argument_group("tasks")
    work.add_argument(
        "--tasks", nargs="+", default=["*"], metavar="PATTERN", help="families, e.g. 'crm/*' (default all)"
    )
    work.add_argument("--seeds", type=parse_positive, default=20, help="instances of each family (default %(default)s)")
    work.add_argument("--first-seed", type=parse_seed, default=0, help="the first seed (default %(default)s)")
    work.add_argument(
        "--rollouts", type=parse_positive, default=1, help="attempts at each instance (default %(default)s)"
    )
    work.add_argument("--split", choices=_SPLITS, default="train", help="of its instances (default %(default)s)")
    work.add_argument("--world", default="standard", help="the company's size (default %(default)s)")
    work.add_argument("--faults", default="none", help=_FAULTS_HELP)
    work.add_argument(
        "--surface",
        default="core",
        help="the tools: core, search, full, 'only(crm.contacts.*,…)', or task(N), which is recorded as assisted "
        "(default %(default)s)",
    )
    work.add_argument(
        "--answer-chars", type=parse_positive, default=16_000, help="of a tool's answer (default %(default)s)"
    )
    work.add_argument(
        "--context-tokens",
        type=parse_positive,
        default=100_000,
        help="beyond it the oldest answers are replaced by a short note (default %(default)s)",
    )
    work.add_argument("--concurrency", type=parse_positive, default=16, help="episodes at once (default %(default)s)")
    work.add_argument("--output", metavar="FOLDER", help="the run's folder (default runs/MODEL)")
    work.add_argument("--resume", action="store_true", help="go on with a run: play what has no verdict yet")
    parser.set_defaults(command=run)
    compare_parser = commands.add_parser("compare", help="compare two runs, family by family")
    compare_parser.add_argument("first", metavar="RUN", help="a folder of recordings")
    compare_parser.add_argument("second", metavar="RUN", help="another one")
    compare_parser.set_defaults(command=compare)


def _add_recording_commands(commands: "argparse._SubParsersAction[ArgumentParser]") -> None:
    verify_parser = commands.add_parser("verify", help="replay recorded episodes and compare every byte")
    verify_parser.add_argument("file", help="a folder of recordings, or a trajectories.jsonl")
    verify_parser.add_argument("--episode", help="only this episode")
    verify_parser.set_defaults(command=verify)
    view_parser = commands.add_parser("view", help="read recorded episodes in a browser; needs no stack")
    view_parser.add_argument("runs", nargs="*", metavar="RUN", help="folders of recordings (default runs)")
    view_parser.add_argument(
        "--port", type=parse_port, default=VIEWER_PORT, help="where it listens (default %(default)s; 0: a free one)"
    )
    view_parser.add_argument("--reviewer", help="the name under which reviews are kept (default: the user's)")
    view_parser.add_argument("--open", action="store_true", help="open the browser")
    view_parser.set_defaults(command=view)
    share_parser = commands.add_parser("share", help="write episodes into one HTML file that works offline")
    share_parser.add_argument("run", help="a folder of recordings")
    share_parser.add_argument("--episodes", nargs="+", metavar="KEY", help="only these (default all, at most 50)")
    share_parser.add_argument("--output", default="dayshift-share.html", help="the file (default %(default)s)")
    share_parser.add_argument("--raw", action="store_true", help="do not redact names, addresses, cards and tokens")
    share_parser.set_defaults(command=share)
    report_parser = commands.add_parser("report", help="summarise a folder of recordings")
    report_parser.add_argument("folder", help="a folder of recordings")
    report_parser.add_argument("--html", help="the file of the page (default report.html in the folder)")
    report_parser.set_defaults(command=report)
    export_parser = commands.add_parser("export", help="export recordings in the formats of other trainers")
    export_parser.add_argument("folder", help="a folder of recordings")
    export_parser.add_argument(
        "--form",
        choices=("chat", "prompt-completion", "preference", "reinforcement", "minari", "atif", "otel"),
        required=True,
        help="whole conversations; each reply with its prompt; pairs of a passed and a failed attempt; prompts with a "
        "grader; a Minari dataset; documents of Harbor's ATIF; OpenTelemetry spans as OTLP JSON",
    )
    export_parser.add_argument("--output", required=True, help="a file, or the id of a Minari dataset")
    export_parser.add_argument("--world", default="standard", help=_WORLD_HELP)
    export_parser.add_argument("--surface", help="the tools of each row (default: those of the recording, else core)")
    export_parser.add_argument(
        "--arguments",
        choices=("text", "object"),
        help="of calls: JSON text as OpenAI takes it (default of chat and reinforcement), or objects as chat "
        "templates and TRL take it (default of prompt-completion and preference)",
    )
    export_parser.add_argument("--flagged", action="store_true", help="also export flagged episodes")
    export_parser.add_argument(
        "--redact", action="store_true", help="replace names, addresses, card numbers and tokens by placeholders"
    )
    export_parser.add_argument(
        "--reviews",
        action="append",
        default=[],
        metavar="PATH",
        help="further reviews: a reviews.jsonl, or a folder with some such as the console's; beside those of the "
        "recordings and, in the forms for training, of the stack's ledger",
    )
    export_parser.set_defaults(command=export)
    _add_review_command(commands)


def _add_review_command(commands: "argparse._SubParsersAction[ArgumentParser]") -> None:
    parser = commands.add_parser("review", help="pick recorded episodes to read, and compare reviewers")
    parser.add_argument("folder", help="a folder of recordings")
    parser.add_argument("--sample", type=parse_positive, default=10, metavar="N", help="episodes (default %(default)s)")
    parser.add_argument("--seed", type=parse_seed, default=0, help="another seed picks others (default %(default)s)")
    parser.add_argument("--unreviewed-by", metavar="NAME", help="leave out what this reviewer has reviewed")
    parser.add_argument("--agreement", action="store_true", help="show how far reviewers agree (Cohen's kappa)")
    parser.add_argument("--write-taxonomy", action="store_true", help="put taxonomy.json into the folder, to be edited")
    parser.set_defaults(command=review)


if __name__ == "__main__":
    sys.exit(main())
