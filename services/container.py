"""Prepares a container before its service starts: copies worlds into its volume and sets its own address.

python -m services.container control | console | mcp | <product> | up

`up` starts every service in this one container, as the sidecar of a Harbor task does.
"""

import filecmp
import os
import shutil
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from services.health import NOTE
from services.kernel import catalog
from services.kernel.config import MCP_PORT
from services.snippets import CONSOLE, CONSOLE_PORT

_CONTROL, _MCP, _UP = "control", "mcp", "up"


def main(arguments: list[str]) -> None:
    service = arguments[0] if arguments else _CONTROL
    if service not in (_CONTROL, _MCP, _UP, CONSOLE, *catalog.names()):
        # Anything else is a command of its own: `docker compose run control python -m fixtures build large`.
        os.execvp(service, arguments)  # noqa: S606 - whoever may run the container may run this
    if service not in (_MCP, CONSOLE):
        copy_worlds(Path(os.environ["DAYSHIFT_BUILT_WORLDS"]), Path(os.environ["DAYSHIFT_VAR"]) / "worlds")
    environment = {**os.environ, **addresses(service, os.environ, _own_address())}
    note_health(service, environment)
    os.execve(sys.executable, [sys.executable, "-m", "services", service], environment)  # noqa: S606 - our own module


def copy_worlds(source_folder: Path, target_folder: Path) -> None:
    """Copy worlds to a writable volume: forks open their template for writing, though they never commit.

    A file gets its name only when it is complete, so that services which share the volume may start at the same time.
    """
    target_folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(path for path in source_folder.iterdir() if path.suffix in (".sqlite", ".json")):
        target = target_folder / source.name
        if target.exists() and filecmp.cmp(source, target, shallow=False):
            print(f"world {source.stem}: already there", flush=True)
            continue
        began = time.perf_counter()
        partial = target.with_suffix(f".{socket.gethostname()}.partial")
        shutil.copyfile(source, partial)
        partial.replace(target)
        print(f"world {source.stem}: {source.stat().st_size / 1e6:.0f} MB copied in {_since(began)}", flush=True)


def addresses(service: str, environment: Mapping[str, str], own: str) -> dict[str, str]:
    """Return the addresses at which control finds this replica; what the environment sets already is kept."""
    if service in (_CONTROL, _MCP, _UP, CONSOLE):
        return {}
    product, prefix = catalog.product(service), f"DAYSHIFT_{service.upper()}"
    values = {
        f"{prefix}_URL": f"http://{own}:{product.port}",
        f"{prefix}_HARNESS_URL": f"http://{own}:{product.harness_port}",
    }
    return {name: value for name, value in values.items() if not environment.get(name)}


def note_health(service: str, environment: Mapping[str, str], note: Path = NOTE) -> None:
    """Write down the health port: the health check is another process and does not know which service runs here."""
    match service:
        case "control" | "up":
            port: object = environment.get("DAYSHIFT_CONTROL_PORT", "8700")
        case "mcp":
            port = environment.get("DAYSHIFT_MCP_PORT", MCP_PORT)
        case "console":
            port = environment.get("DAYSHIFT_CONSOLE_PORT", CONSOLE_PORT)
        case _:
            port = catalog.product(service).harness_port
    note.write_text(str(port))


def _own_address() -> str:
    return socket.gethostbyname(socket.gethostname())


def _since(began: float) -> str:
    return f"{time.perf_counter() - began:.1f} s"


if __name__ == "__main__":
    main(sys.argv[1:])
