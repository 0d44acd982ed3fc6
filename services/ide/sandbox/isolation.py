"""What every way of isolating a sandbox has in common, and the refusal to start without one."""

from collections.abc import Mapping
from typing import Protocol

import orjson

from services.ide.sandbox.limits import Limits
from services.ide.sandbox.sandbox import Sandbox
from services.ide.sandbox.system_files import HOME

_ENVIRONMENT = {
    "HOME": HOME,
    "USER": "dev",
    "LOGNAME": "dev",
    "SHELL": "/bin/bash",
    "PATH": f"{HOME}/.local/bin:/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    # Sessions have a terminal, and nobody reads page by page.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUTF8": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


class NoIsolation(RuntimeError):
    """Nothing on this machine can isolate a program: the service must not start."""


class Runner(Protocol):
    """Starts sandboxes of one kind."""

    name: str
    # The folder or archive inside a sandbox from which the package `guest` is imported.
    toolbox: str

    async def start(self, limits: Limits) -> Sandbox: ...

    async def check(self) -> None:
        """Raises NoIsolation, with what to install, where it cannot work."""

    async def close(self) -> None: ...


def guest_start(toolbox: str) -> str:
    """The Python statements that start the guest; a wrong interpreter is refused before it imports private modules."""
    return (
        f"import sys; sys.path.insert(0, {toolbox!r}); import guest; guest.require_interpreter(); "
        "from guest.server import main; main()"
    )


def guest_settings(limits: Limits, env: Mapping[str, str]) -> str:
    settings = {
        "home": HOME,
        "env": {**_ENVIRONMENT, **env},
        "limits": limits.resource_limits(),
        "inodes": limits.inodes,
        "mounts": [HOME, "/tmp", "/dev/shm", "/run/forge"],  # noqa: S108 - inside
        "cpu_seconds": limits.cpu_seconds,
        "nice": limits.nice,
        "nice_share": limits.nice_share,
    }
    return orjson.dumps(settings).decode()
