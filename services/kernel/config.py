"""Settings are read once, frozen and passed on. The defaults run on a laptop."""

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from services.kernel.salt import NO_SALT, Salt

_ADDRESS = re.compile(r"DAYSHIFT_([A-Z][A-Z0-9_]*?)_(PORT|HARNESS_URL|URL)")
_HARNESS_OFFSET = 10
# The endpoint for all products of an episode together.
MCP_PORT = 8706
# Shorter salts could be found by trial from the fingerprint that verdicts carry.
_SHORTEST_SALT = 16
_ANY_HOST = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not bound to


class BadSetting(ValueError):
    """An environment variable has a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """How the IDE isolates an agent's programs."""

    runner: Literal["bubblewrap", "docker"] = "bubblewrap"
    # For docker: the image of a sandbox, and another runtime than the engine's own.
    image: str = "dayshift-sandbox"
    runtime: str | None = None
    # The variables with which the Docker SDK finds its engine.
    docker: Mapping[str, str] = field(default_factory=dict)
    # The folder of wheels that programs inside install from; None: they install nothing.
    wheels: Path | None = None
    # Where an image keeps the sandboxes' system files that it was built with.
    built: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "SandboxSettings":
        variables = os.environ if environment is None else environment
        runner = variables.get("DAYSHIFT_SANDBOX", "bubblewrap")
        if runner not in ("bubblewrap", "docker"):
            raise BadSetting(f"DAYSHIFT_SANDBOX={runner!r} is neither bubblewrap nor docker")
        wheels = variables.get("DAYSHIFT_WHEELS") or str(Path(variables.get("DAYSHIFT_VAR", "var")) / "wheels")
        return cls(
            runner="docker" if runner == "docker" else "bubblewrap",
            image=variables.get("DAYSHIFT_SANDBOX_IMAGE", "dayshift-sandbox"),
            runtime=variables.get("DAYSHIFT_SANDBOX_RUNTIME") or None,
            docker={name: value for name, value in variables.items() if name.startswith("DOCKER_")},
            wheels=None if wheels == "0" else Path(wheels).absolute(),
            built=Path(variables["DAYSHIFT_BUILT_SANDBOX"]) if variables.get("DAYSHIFT_BUILT_SANDBOX") else None,
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that environment variables decide."""

    var: Path = Path("var")
    host: str = "127.0.0.1"
    harness_host: str = "127.0.0.1"
    control_port: int = 8700
    control_token: str = field(default="", repr=False)
    harness_token: str = field(default="", repr=False)
    playground_token: str = field(default="playground", repr=False)
    playground_clock: Literal["world", "wall"] = "world"
    # Control's alone: products get seeds that it is mixed into.
    salt: Salt = NO_SALT
    ledger_url: str = ""
    redis_url: str = ""
    lease_seconds: float = 1800.0
    max_episodes: int = 2000
    # Memory for task setups that control keeps: 52 families of the standard world at 100 seeds took 152 MB.
    setup_cache_bytes: int = 192 << 20
    # Families, as patterns, whose colleagues a person plays at the console, and how long the agent waits for one.
    human_approvals: tuple[str, ...] = ()
    approval_seconds: float = 120.0
    console_token: str = field(default="", repr=False)
    # The address that people use, if it is not on this machine, and folders that are shown beside the ledger.
    console_url: str = ""
    recordings: tuple[Path, ...] = ()
    worlds: tuple[str, ...] = ()
    # Ports of control's at which agents outside its network reach second and further replicas; none: no relay.
    relay: tuple[int, ...] = ()
    log_level: str = "info"
    # 0: as much as the product says of itself.
    body_limit: int = 0
    # Where services stand, if not at their own ports on this machine: DAYSHIFT_CRM_PORT, _URL and _HARNESS_URL.
    addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)

    @property
    def worlds_folder(self) -> Path:
        return self.var / "worlds"

    @property
    def control_url(self) -> str:
        """Where other services reach control."""
        return self.addresses.get(("control", "URL")) or f"http://{reachable_host(self.host)}:{self.control_port}"

    @property
    def mcp_url(self) -> str:
        """Where MCP clients find the tools of all products of an episode."""
        return f"{self.url('mcp', MCP_PORT)}/mcp"

    def port(self, service: str, own: int) -> int:
        configured = self.addresses.get((service, "PORT"))
        return own if configured is None else _port(service, configured)

    def harness_port(self, service: str, own: int) -> int:
        return self.port(service, own) + _HARNESS_OFFSET

    def url(self, service: str, own: int) -> str:
        """The URL at which agents reach the service."""
        return self.addresses.get((service, "URL")) or f"http://{reachable_host(self.host)}:{self.port(service, own)}"

    def harness_url(self, service: str, own: int) -> str:
        configured = self.addresses.get((service, "HARNESS_URL"))
        return configured or f"http://{reachable_host(self.harness_host)}:{self.harness_port(service, own)}"

    @classmethod
    def from_environment(cls, environment: dict[str, str] | None = None) -> "Settings":
        variables = dict(os.environ) if environment is None else environment
        var = Path(variables.get("DAYSHIFT_VAR", "var"))
        return cls(
            var=var,
            host=variables.get("DAYSHIFT_HOST", "127.0.0.1"),
            harness_host=variables.get("DAYSHIFT_HARNESS_HOST", "127.0.0.1"),
            control_port=int(_number(variables, "DAYSHIFT_CONTROL_PORT", 8700)),
            control_token=variables.get("DAYSHIFT_CONTROL_TOKEN") or read_or_create_secret(var / "control.token"),
            harness_token=variables.get("DAYSHIFT_HARNESS_TOKEN") or read_or_create_secret(var / "harness.token"),
            playground_token=variables.get("DAYSHIFT_PLAYGROUND_TOKEN", "playground"),
            playground_clock=_playground_clock(variables.get("DAYSHIFT_PLAYGROUND_CLOCK", "world")),
            salt=_salt(variables.get("DAYSHIFT_SALT", "")),
            ledger_url=variables.get("DAYSHIFT_LEDGER_URL", ""),
            redis_url=variables.get("DAYSHIFT_REDIS_URL", ""),
            lease_seconds=_number(variables, "DAYSHIFT_LEASE", 1800.0),
            max_episodes=int(_number(variables, "DAYSHIFT_MAX_EPISODES", 2000)),
            setup_cache_bytes=int(_number(variables, "DAYSHIFT_SETUP_CACHE_MB", 192, least=0) * (1 << 20)),
            human_approvals=tuple(name for name in variables.get("DAYSHIFT_HUMAN_APPROVALS", "").split(",") if name),
            approval_seconds=_number(variables, "DAYSHIFT_APPROVAL_SECONDS", 120.0),
            console_token=variables.get("DAYSHIFT_CONSOLE_TOKEN") or read_or_create_secret(var / "console.token"),
            console_url=variables.get("DAYSHIFT_CONSOLE_URL", ""),
            recordings=tuple(Path(name) for name in variables.get("DAYSHIFT_RECORDINGS", "").split(os.pathsep) if name),
            worlds=tuple(name for name in variables.get("DAYSHIFT_WORLDS", "").split(",") if name),
            relay=_port_range(variables.get("DAYSHIFT_RELAY", "")),
            body_limit=int(_number(variables, "DAYSHIFT_BODY_LIMIT", 0, least=0)),
            log_level=variables.get("DAYSHIFT_LOG", "info").lower(),
            addresses=_addresses(variables),
            sandbox=SandboxSettings.from_environment(variables),
        )


def reachable_host(host: str) -> str:
    """The address that a client uses for a server that listens on every interface."""
    return "127.0.0.1" if host in _ANY_HOST else host


def _addresses(variables: Mapping[str, str]) -> dict[tuple[str, str], str]:
    matches = ((_ADDRESS.fullmatch(name), value) for name, value in variables.items())
    return {(match[1].lower(), match[2]): value.rstrip("/") for match, value in matches if match and value}


def _playground_clock(text: str) -> Literal["world", "wall"]:
    if text not in ("world", "wall"):
        raise BadSetting(f"DAYSHIFT_PLAYGROUND_CLOCK={text!r} is neither world nor wall")
    return "wall" if text == "wall" else "world"


def _salt(secret: str) -> Salt:
    if 0 < len(secret) < _SHORTEST_SALT:
        # Without the value: an error message is no place for a secret.
        raise BadSetting(f"DAYSHIFT_SALT must have at least {_SHORTEST_SALT} characters, not {len(secret)}")
    return Salt(secret)


def _port_range(text: str) -> tuple[int, ...]:
    """`8721-8728`, or one port; nothing for none."""
    if not text:
        return ()
    first, _, last = text.partition("-")
    return tuple(range(_port("relay", first), _port("relay", last or first) + 1))


def _port(service: str, text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise BadSetting(f"DAYSHIFT_{service.upper()}_PORT={text!r} is not a port")
    return int(text)


def read_or_create_secret(path: Path) -> str:
    """Returns the secret in this file, which is made on first use and readable by its owner alone."""
    if not path.exists():
        _make_secret(path)
    return _existing_secret(path)


def _make_secret(path: Path) -> None:
    """Writes another file and links it, so that two processes that start at once read the same whole secret."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32))
    with suppress(FileExistsError):
        os.link(temporary, path)
    temporary.unlink()


def _existing_secret(path: Path) -> str:
    secret = path.read_text().strip()
    if not secret:
        raise BadSetting(f"{path} is empty; remove it and start again")
    return secret


def _number(variables: dict[str, str], name: str, default: float, least: float = 1e-9) -> float:
    try:
        value = float(variables.get(name, default))
    except ValueError as error:
        raise BadSetting(f"{name}={variables[name]!r} is not a number") from error
    if not least <= value < float("inf"):
        raise BadSetting(f"{name}={variables[name]!r} must be finite and at least {least:g}")
    return value


def kits_folder() -> Path:
    """Where services of one stack leave sets of files for each other; see `services.kernel.kits`."""
    return Path(os.environ.get("DAYSHIFT_VAR", "var")) / "kits"


def upstream_folder() -> Path | None:
    """Where archives of public packages are kept; None where they are opted out of."""
    configured = os.environ.get("DAYSHIFT_UPSTREAM", "")
    if configured == "0":
        return None
    return Path(configured) if configured else Path(os.environ.get("DAYSHIFT_VAR", "var")) / "upstream"


def is_disguised() -> bool:
    """Whether public packages are planted under other names and in another layout."""
    return os.environ.get("DAYSHIFT_DISGUISE", "") not in ("", "0")
