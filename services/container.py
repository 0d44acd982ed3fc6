"""What a container does before its service starts: worlds into its volume, its own address into its settings.

python -m services.container control | <product>
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

_CONTROL = "control"


def main(arguments: list[str]) -> None:
    asked = arguments[0] if arguments else _CONTROL
    if asked not in (_CONTROL, *catalog.names()):
        # Anything else is a command of its own: `docker compose run control python -m fixtures build large`.
        os.execvp(asked, arguments)  # noqa: S606 - whoever may run the container may run this
    settle_worlds(Path(os.environ["DAYSHIFT_BUILT_WORLDS"]), Path(os.environ["DAYSHIFT_VAR"]) / "worlds")
    environment = {**os.environ, **addresses(asked, os.environ, _own_address())}
    note_health(asked, environment)
    os.execve(sys.executable, [sys.executable, "-m", "services", asked], environment)  # noqa: S606 - our own module


def settle_worlds(built: Path, settled: Path) -> None:
    """Forks open their template for writing, though they never commit: it must lie on a writable volume.

    A file gets its name only when it is whole, so that services which share the volume may start at once.
    """
    settled.mkdir(parents=True, exist_ok=True)
    for source in sorted(path for path in built.iterdir() if path.suffix in (".sqlite", ".json")):
        target = settled / source.name
        if target.exists() and filecmp.cmp(source, target, shallow=False):
            print(f"world {source.stem}: there already", flush=True)
            continue
        began = time.perf_counter()
        partial = target.with_suffix(f".{socket.gethostname()}.partial")
        shutil.copyfile(source, partial)
        partial.replace(target)
        print(f"world {source.stem}: {source.stat().st_size / 1e6:.0f} MB copied in {_since(began)}", flush=True)


def addresses(service: str, environment: Mapping[str, str], own: str) -> dict[str, str]:
    """Where control finds this replica; whatever the environment says already stands."""
    if service == _CONTROL:
        return {}
    product, prefix = catalog.product(service), f"DAYSHIFT_{service.upper()}"
    said = {f"{prefix}_URL": f"http://{own}:{product.port}", f"{prefix}_DOOR_URL": f"http://{own}:{product.door_port}"}
    return {name: value for name, value in said.items() if not environment.get(name)}


def note_health(service: str, environment: Mapping[str, str], note: Path = NOTE) -> None:
    """The health check is another process: it must learn which service this container runs."""
    port = (
        environment.get("DAYSHIFT_CONTROL_PORT", "8700") if service == _CONTROL else catalog.product(service).door_port
    )
    note.write_text(str(port))


def _own_address() -> str:
    return socket.gethostbyname(socket.gethostname())


def _since(began: float) -> str:
    return f"{time.perf_counter() - began:.1f} s"


if __name__ == "__main__":
    main(sys.argv[1:])
