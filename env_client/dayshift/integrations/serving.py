"""Serving: the command line that the servers of this package share."""

import argparse
from typing import TYPE_CHECKING

from dayshift.argument_types import parse_number, parse_port, parse_positive
from dayshift.errors import MissingExtra
from dayshift.integrations.sessions import SPLITS, ServerOptions

if TYPE_CHECKING:
    from fastapi import FastAPI

# A frame or a body beyond this is refused before it is read whole.
MAX_MESSAGE_BYTES = 4 << 20


def run_server(app: "FastAPI", host: str, port: int) -> None:
    """Serves until Ctrl-C."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("uvicorn", "openenv") from error
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws_max_size=MAX_MESSAGE_BYTES,
        # A half-open socket answers no ping.
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        ws_per_message_deflate=False,
    )


def build_parser(name: str, port: int) -> argparse.ArgumentParser:
    defaults = ServerOptions()
    parser = argparse.ArgumentParser(prog=f"python -m dayshift.integrations.{name}", description=f"serve {name}")
    # Whoever reaches the port opens episodes with this process's token, so it is not open to the network by default.
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=parse_port, default=port, help=f"default {port}")
    parser.add_argument("--task", help="the family of every episode; without it the seed draws one")
    parser.add_argument("--families", default="", help="draw from families whose ids start so, such as crm/")
    parser.add_argument("--split", choices=SPLITS, default=defaults.split, help="default train")
    parser.add_argument("--world", default=defaults.world, help="default standard")
    parser.add_argument("--faults", default=defaults.faults, help="the fault plan (default none)")
    parser.add_argument("--surface", default=defaults.surface, help="the tools that a model is given (default core)")
    parser.add_argument("--max-sessions", type=parse_positive, default=defaults.max_sessions, help="default 1024")
    parser.add_argument(
        "--lease-seconds",
        type=parse_number,
        default=defaults.lease_seconds,
        help="close what is idle for so long (900)",
    )
    return parser
