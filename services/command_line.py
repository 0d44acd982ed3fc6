"""The commands of `python -m services`: up, control, console, mcp, <product>, validate, instances."""

import argparse
import os
import sys

from services.kernel import catalog
from services.kernel.config import BadSetting, Settings
from services.kernel.product import CannotStart
from services.kernel.serve import PortTaken, run_product
from services.kernel.template import TemplateTouched
from services.mcp.product_endpoint import ProductMcp

_LAST_PORT = 65_535


def main(arguments: list[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        return _run(chosen)
    except (BadSetting, CannotStart, PortTaken, TemplateTouched) as error:
        print(f"dayshift: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        # Such as a DAYSHIFT_VAR that is a file, or belongs to somebody else.
        if error.filename is None:
            raise
        print(f"dayshift: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    if options.service == "up":
        # Late: a product alone needs neither the supervisor nor, below, control and its database.
        from services.supervisor import up

        if options.disguise:
            # Services are processes of their own, which inherit it.
            os.environ["DAYSHIFT_DISGUISE"] = "1"
        return up(port_base=options.port_base, restart=options.restart)
    settings = Settings.from_environment()
    if options.service == "validate":
        from rich.console import Console

        from services.validate.run import plan_for, validate

        plan = plan_for(settings.var, options.family, options.seeds, options.world, resume=options.resume)
        return validate(plan, Console())
    if options.service == "instances":
        from services.instances import measure

        return measure(settings, options.family, options.processes, write=options.write)
    if options.service == "control":
        from services.control.serve import run_control

        run_control(settings)
    elif options.service == "mcp":
        from services.mcp.gateway import run_gateway

        run_gateway(settings)
    elif options.service == "console":
        from services.console.serve import run_console

        run_console(settings)
    else:
        run_product(catalog.product(options.service), settings, ProductMcp)
    return 0


class _PrintVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        # Late: importing the client for every product's process costs a second on a small machine.
        from dayshift.version import VERSION

        parser.exit(message=f"{VERSION}\n")


def _parse_positive(text: str) -> int:
    # Not the client's types: importing it for every product's process costs a second on a small machine.
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _parse_port(text: str) -> int:
    """Control's port; those of the products lie up to a hundred above it."""
    port = _parse_positive(text)
    if port > _LAST_PORT - 100:
        raise argparse.ArgumentTypeError(f"{port} leaves no ports above it: choose at most {_LAST_PORT - 100}")
    return port


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services", description="Run Dayshift's services.")
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and stop")
    commands = parser.add_subparsers(dest="service", required=True, metavar="service")
    whole = commands.add_parser("up", help="everything, one process per service, until Ctrl-C")
    whole.add_argument(
        "--port-base", type=_parse_port, metavar="N", help="control on N, products above it (default 8700)"
    )
    whole.add_argument("--restart", action="store_true", help="start a service again when it dies")
    whole.add_argument("--disguise", action="store_true", help="plant public packages under other names and layout")
    commands.add_parser("control", help="the control plane alone")
    commands.add_parser("mcp", help="the MCP endpoint for all products of an episode alone")
    commands.add_parser("console", help="the console alone")
    trying = commands.add_parser("validate", help="try every task family without a model")
    trying.add_argument("--family", action="append", default=[], metavar="F", help="only this one; may be repeated")
    trying.add_argument("--seeds", type=_parse_positive, default=20, metavar="N", help="seeds per family (default 20)")
    trying.add_argument("--world", default="standard", help="which world (default standard)")
    trying.add_argument("--resume", action="store_true", help="skip what passed before and has not changed since")
    counting = commands.add_parser("instances", help="find the different instances of every family and split")
    counting.add_argument("--family", action="append", default=[], metavar="F", help="only this one; may be repeated")
    counting.add_argument(
        "--processes", type=_parse_positive, default=2, metavar="N", help="at the same time (default 2)"
    )
    counting.add_argument("--write", action="store_true", help="update the file instead of comparing with it")
    for name in catalog.names():
        # Not by its title: importing every product to start one costs seconds on a small machine.
        commands.add_parser(name, help="this product alone")
    return parser
